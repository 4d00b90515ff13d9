// Shared by the node servers of the matrix: a free port, and an exit when stdin closes.

import { createServer } from 'node:http';

/** Serves on a free loopback port. Prints the URL once connections are accepted. */
export function serve(handler, path = '/mcp') {
    // The parent holds our stdin; exit when it is closed.
    process.stdin.on('end', () => process.exit(0)).resume();
    const server = createServer((request, response) => {
        Promise.resolve(handler(request, response)).catch(error => {
            console.error(error);
            if (!response.headersSent) response.writeHead(500);
            response.end();
        });
    });
    server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}${path}`));
}

/** The text of a request, as JSON if it is any. */
export async function body(request) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    return text ? JSON.parse(text) : undefined;
}

// The server of the matrix on the TypeScript SDK 1.x: sessions, resumable streams, and the transport
// of 2024-11-05.
//
// usage: ts1.mjs http | sse

import { randomUUID } from 'node:crypto';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { body, serve } from './listening.mjs';

const NOTE = 'memo://note';
const sessions = new Map();
const state = { cancelled: 0, note: 0 };

const text = value => ({ content: [{ type: 'text', text: String(value) }] });

function build() {
    const mcp = new McpServer(
        { name: 'matrix-ts1', version: '1.0.0' },
        { capabilities: { resources: { subscribe: true } }, instructions: 'Add, count, wait, ask.' }
    );
    const tool = (name, description, inputSchema, run) =>
        mcp.registerTool(name, { description, inputSchema }, run);
    const subscribed = new Set();

    tool('add', 'Adds.', { a: z.number(), b: z.number() }, ({ a, b }) => text(a + b));
    tool('count', 'Counts and reports progress.', { steps: z.number() }, async ({ steps }, extra) => {
        for (let step = 1; step <= steps; step++) await progress(extra, step, steps);
        return text(`counted to ${steps}`);
    });
    tool('wait', 'Waits until the call is cancelled.', {}, async (_, extra) => {
        await progress(extra, 0, 1);
        await new Promise(resolve => extra.signal.addEventListener('abort', resolve));
        state.cancelled++;
        return text('never');
    });
    tool('cancelled', 'How many waits were cancelled.', {}, () => text(state.cancelled));
    tool('ask', 'Asks the user.', {}, async (_, extra) => {
        const properties = { name: { type: 'string' }, colour: { type: 'string', default: 'blue' } };
        const requestedSchema = { type: 'object', properties, required: ['name'] };
        const params = { message: 'Who are you?', requestedSchema };
        const { content } = await mcp.server.elicitInput(params, { relatedRequestId: extra.requestId });
        return text(`Hello ${content.name}, ${content.colour} it is`);
    });
    tool('grow', 'Adds a tool.', {}, () => {
        tool('grown', 'Was not there before.', {}, () => text('grown'));
        return text('grew');
    });
    tool('touch', 'Changes the note.', {}, async () => {
        state.note++;
        if (subscribed.has(NOTE)) await mcp.server.sendResourceUpdated({ uri: NOTE });
        return text('touched');
    });
    tool('pause', 'Ends the stream of the answer before the answer is there.', {}, async (_, extra) => {
        extra.closeSSEStream?.();
        await progress(extra, 1, 2);
        return text('resumed');
    });
    tool('lose', 'Drops this session: requests with its id are rejected.', {}, (_, extra) => {
        sessions.delete(extra.sessionId);
        return text('lost');
    });
    tool('die', 'Ends the server without a response.', {}, () => process.exit(7));

    mcp.registerResource('note', NOTE, {}, () => ({
        contents: [{ uri: NOTE, text: `touched ${state.note} times` }]
    }));
    mcp.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => (subscribed.add(params.uri), {}));
    mcp.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}));
    mcp.registerPrompt('greet', { argsSchema: { name: z.string() } }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }]
    }));
    return mcp;
}

async function progress(extra, progress, total) {
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) return;
    await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total, message: `step ${progress}` }
    });
}

/** Stores sent events for resumption. */
class Events {
    #sent = [];

    async storeEvent(stream, message) {
        return `${stream}/${this.#sent.push({ stream, message })}`;
    }

    async getStreamIdForEventId(id) {
        return id.slice(0, id.lastIndexOf('/'));
    }

    async replayEventsAfter(id, { send }) {
        const cut = id.lastIndexOf('/');
        const [stream, last] = [id.slice(0, cut), Number(id.slice(cut + 1))];
        for (let n = last; n < this.#sent.length; n++) {
            const event = this.#sent[n];
            // An event that only opened the stream has an empty message.
            if (event.stream === stream && Object.keys(event.message).length > 0)
                await send(`${stream}/${n + 1}`, event.message);
        }
        return stream;
    }
}

async function http(request, response) {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    const message = request.method === 'POST' ? await body(request) : undefined;
    if (message?.method !== 'initialize') {
        const status = request.headers['mcp-session-id'] ? 404 : 400;
        const error = { code: -32000, message: status === 404 ? 'no such session' : 'no session' };
        response.writeHead(status, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    }
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: new Events(),
        retryInterval: 100,
        onsessioninitialized: id => void sessions.set(id, transport),
        onsessionclosed: id => void sessions.delete(id)
    });
    await build().connect(transport);
    await transport.handleRequest(request, response, message);
}

async function sse(request, response) {
    const url = new URL(request.url, 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') {
        const transport = new SSEServerTransport('/messages', response);
        sessions.set(transport.sessionId, transport);
        response.on('close', () => sessions.delete(transport.sessionId));
        return build().connect(transport);
    }
    const known = sessions.get(url.searchParams.get('sessionId'));
    if (known && url.pathname === '/messages') return known.handlePostMessage(request, response);
    response.writeHead(url.pathname === '/sse' ? 405 : 404).end();
}

switch (process.argv[2]) {
    case 'http':
        serve(http);
        break;
    case 'sse':
        serve(sse, '/sse');
        break;
    default:
        console.error('usage: ts1.mjs http | sse');
        process.exit(2);
}

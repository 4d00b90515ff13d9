// The server of the matrix on the TypeScript SDK 2.x, which speaks both eras: the legacy one without
// sessions over HTTP.
//
// usage: ts2.mjs stdio | http

import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { serve } from './listening.mjs';

const NOTE = 'memo://note';
const state = { cancelled: 0, note: 0, grown: false };
// Over HTTP every request has its own server, and the handler sends change notifications.
let notify;

const text = value => ({ content: [{ type: 'text', text: String(value) }] });

function build() {
    const mcp = new McpServer(
        { name: 'matrix-ts2', version: '1.0.0' },
        {
            capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
            instructions: 'Add, count, wait, ask.'
        }
    );
    const tool = (name, description, shape, run) =>
        mcp.registerTool(name, { description, inputSchema: z.object(shape) }, run);

    tool('add', 'Adds.', { a: z.number(), b: z.number() }, ({ a, b }) => text(a + b));
    tool('count', 'Counts and reports progress.', { steps: z.number() }, async ({ steps }, ctx) => {
        for (let step = 1; step <= steps; step++) await progress(ctx, step, steps);
        return text(`counted to ${steps}`);
    });
    tool('wait', 'Waits until the call is cancelled.', {}, async (_, ctx) => {
        await progress(ctx, 0, 1);
        await new Promise(resolve => ctx.mcpReq.signal.addEventListener('abort', resolve));
        state.cancelled++;
        return text('never');
    });
    tool('cancelled', 'How many waits were cancelled.', {}, () => text(state.cancelled));
    tool('ask', 'Asks the user.', {}, (_, ctx) => {
        const person = acceptedContent(ctx.mcpReq.inputResponses, 'who');
        if (person) return text(`Hello ${person.name}, ${person.colour} it is`);
        const properties = { name: { type: 'string' }, colour: { type: 'string', default: 'blue' } };
        const requestedSchema = { type: 'object', properties, required: ['name'] };
        const who = inputRequired.elicit({ message: 'Who are you?', requestedSchema });
        return inputRequired({ inputRequests: { who }, requestState: 'asked "once"' });
    });
    tool('grow', 'Adds a tool.', {}, () => {
        if (!state.grown) grown();
        state.grown = true;
        notify?.toolsChanged();
        return text('grew');
    });
    tool('touch', 'Changes the note.', {}, async () => {
        state.note++;
        if (notify) notify.resourceUpdated(NOTE);
        else await mcp.server.sendResourceUpdated({ uri: NOTE });
        return text('touched');
    });
    tool('die', 'Ends the server without a response.', {}, () => process.exit(7));
    const grown = () => tool('grown', 'Was not there before.', {}, () => text('grown'));
    if (state.grown) grown();

    mcp.registerResource('note', NOTE, {}, () => ({
        contents: [{ uri: NOTE, text: `touched ${state.note} times` }]
    }));
    mcp.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }]
    }));
    return mcp;
}

async function progress(ctx, progress, total) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total, message: `step ${progress}` }
    });
}

switch (process.argv[2]) {
    case 'stdio':
        serveStdio(build);
        break;
    case 'http': {
        const handler = createMcpHandler(build);
        notify = handler.notify;
        serve(toNodeHandler(handler));
        break;
    }
    default:
        console.error('usage: ts2.mjs stdio | http');
        process.exit(2);
}

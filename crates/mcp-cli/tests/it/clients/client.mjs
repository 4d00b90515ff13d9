// The official TypeScript client (1.x) at the gateway: lists, calls with progress, and ends.

const [root, command, ...args] = process.argv.slice(2);
const { Client } = await import(`${root}/client/index.js`);
const { StdioClientTransport } = await import(`${root}/client/stdio.js`);

const client = new Client({ name: "a test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const names = (await client.listTools()).tools.map((tool) => tool.name);
console.log("tools", names.filter((name) => name.includes("weekday") || name === "tool_call").join(" "));
let reports = 0;
const call = names.includes("tool_call")
  ? { name: "tool_call", arguments: { id: "mcp__demo__weekday", arguments: { date: "2020-01-01" } } }
  : { name: "mcp__demo__weekday", arguments: { date: "2020-01-01" } };
const result = await client.callTool(call, undefined, { onprogress: () => (reports += 1) });
console.log(result.content[0].text);
console.log("resources", (await client.listResources()).resources.length);
await client.close();

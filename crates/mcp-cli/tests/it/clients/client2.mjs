// The official TypeScript client (2.x) at the gateway, in one era: lists, searches, calls, is asked, reads, and ends.
// Arguments: the folder of the package, the era, and the gateway as a URL or as a command.

const [root, era, target, ...args] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(`${root}/dist/index.mjs`);
const { StdioClientTransport } = await import(`${root}/dist/stdio.mjs`);

const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client(
  { name: "a test", version: "1" },
  { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
);
client.setRequestHandler("elicitation/create", async ({ params }) => {
  console.log("asked", Object.keys(params.requestedSchema.properties).join(" "));
  return { action: "decline" };
});
const transport = target.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env });
await client.connect(transport);
console.log(client.getProtocolEra(), client.getNegotiatedProtocolVersion());

const names = (await client.listTools()).tools.map((tool) => tool.name);
const isSearch = names.includes("tool_call");
console.log("tools", names.filter((name) => name.includes("weekday") || name.startsWith("tool_")).join(" "));
if (isSearch) {
  const found = await client.callTool({ name: "tool_search", arguments: { query: "day of the week" } });
  console.log("found", found.structuredContent.matches[0].id);
}
const call = (name, args, options) =>
  client.callTool(
    isSearch
      ? { name: "tool_call", arguments: { id: `mcp__demo__${name}`, arguments: args } }
      : { name: `mcp__demo__${name}`, arguments: args },
    options,
  );
const say = (result) => console.log(result.isError === true ? "error" : "text", result.content[0].text);
say(await call("weekday", { date: "2020-01-01" }));
say(await call("weekday", { date: "soon" }));
let reports = 0;
const onprogress = () => (reports += 1);
say(await call("find_primes", { limit: 100, pause_ms: 0 }, { onprogress }));
console.log("progress", reports > 0);
say(await call("order_pizza", {}));
console.log("resource", (await client.listResources()).resources[0].uri);
console.log((await client.readResource({ uri: "demo://guide" })).contents[0].text.split("\n")[0]);
console.log("prompt", (await client.listPrompts()).prompts[0].name);
const prompt = await client.getPrompt({ name: "mcp__demo__haiku", arguments: { about: "x" } });
console.log(prompt.messages[0].content.text);
await client.close();

// A real authorization server (oidc-provider, with its own login and consent pages) and a small MCP server
// that accepts its tokens. Prints one line of JSON when both listen, and exits when stdin closes.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Stdout is for the one line that the test reads.
console.info = console.warn = console.error;

const require = createRequire(`${process.argv[2]}/`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const listen = (server) =>
  new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(server.address().port)));

const mcp = createServer();
const authority = createServer();
const resource = `http://127.0.0.1:${await listen(mcp)}/mcp`;
const issuer = `http://127.0.0.1:${await listen(authority)}`;
const SCOPE = "mcp:tools";
const counts = { tokens: 0, refreshes: 0, revocations: 0, calls: 0 };

const provider = new Provider(issuer, {
  clients: [],
  scopes: ["openid", "offline_access", SCOPE],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: SCOPE, accessTokenTTL: 600, accessTokenFormat: "opaque" }),
    },
  },
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
  rotateRefreshToken: true,
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
provider.on("grant.success", (ctx) => {
  counts.tokens += 1;
  if (ctx.oidc.params.grant_type === "refresh_token") counts.refreshes += 1;
});
provider.on("access_token.destroyed", () => (counts.revocations += 1));
provider.on("refresh_token.destroyed", () => (counts.revocations += 1));
provider.on("server_error", (_ctx, error) => console.error(error));
authority.on("request", provider.callback());

const metadata = "/.well-known/oauth-protected-resource/mcp";
const refused = `Bearer resource_metadata="${new URL(metadata, resource)}", scope="${SCOPE}"`;
const tool = { name: "whoami", description: "Who is logged in", inputSchema: { type: "object" } };

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "oidc-tests", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (_params, token) => {
    counts.calls += 1;
    const text = `${token.accountId} with ${token.scope} and ${JSON.stringify(counts)}`;
    return { content: [{ type: "text", text }] };
  },
};

mcp.on("request", async (request, response) => {
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  if (request.url === metadata) {
    return send(200, { resource, authorization_servers: [issuer], scopes_supported: [SCOPE] });
  }
  const value = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  const token = value && (await provider.AccessToken.find(value));
  if (!token || ![token.aud].flat().includes(resource)) {
    return send(401, { error: "login" }, { "www-authenticate": refused });
  }
  if (request.method !== "POST") return send(405);
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return send(202);
  const answer = methods[method];
  if (!answer) {
    return send(200, { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } });
  }
  return send(200, { jsonrpc: "2.0", id, result: answer(params ?? {}, token) });
});

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
console.log(JSON.stringify({ resource, issuer }));

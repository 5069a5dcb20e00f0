import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FakeCloud } from "./fake-cloud.ts";
import { metadataAnswer } from "./metadata.ts";

/** The fake cloud as an HTTP server on a free port of this machine. */
export interface CloudServer {
  /** `http://127.0.0.1:<port>`: for every service. */
  readonly endpoint: string;
  close(): Promise<void>;
}

export async function serveCloud(cloud: FakeCloud): Promise<CloudServer> {
  const server = createServer((request, response) => {
    // A caller that goes away in the middle of its request needs no answer.
    answer(cloud, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(cloud: FakeCloud, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(",") : (value ?? ""),
    ]),
  );
  const call = { method: request.method ?? "", target: request.url ?? "/", headers, body };
  if (call.target.startsWith("/latest/")) {
    const metadata = metadataAnswer(cloud, call);
    response.writeHead(metadata === null ? 404 : 200).end(metadata ?? "");
    return;
  }
  const reaction = await cloud.react(call, headers.host ?? "");
  switch (reaction.kind) {
    case "reply":
      response.writeHead(reaction.reply.status, reaction.reply.headers).end(reaction.reply.body);
      return;
    case "stall":
      return;
    case "stall_body":
      response.writeHead(200, { "content-type": "text/xml" }).flushHeaders();
      return;
    case "unreachable":
      request.socket.destroy();
  }
}

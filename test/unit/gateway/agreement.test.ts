import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { damaged, request, startService, startTestGateway } from "./support.ts";

/** A service that notes requests in the order in which they begin, and only those that arrive whole. */
async function startNotes(): Promise<{ port: number; takeNotes(): string[] }> {
  let notes: { text?: string }[] = [];
  const { url } = await startService(async (incoming, response) => {
    const note: { text?: string } = {};
    notes.push(note);
    let body = "";
    incoming.on("data", (piece: Buffer) => {
      body += piece.toString("latin1");
    });
    incoming.on("error", () => {});
    incoming.on("end", () => {
      note.text = `${incoming.method} ${incoming.url} ${JSON.stringify(body)}`;
      response.end("ok");
    });
  });
  return {
    port: Number(new URL(url).port),
    takeNotes() {
      const taken = notes.flatMap((note) => (note.text === undefined ? [] : [note.text]));
      notes = [];
      return taken;
    },
  };
}

/** Sends bytes, says that there are no more, and waits until the server has closed. */
async function sendAll(port: number, bytes: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  socket.end(Buffer.from(bytes, "latin1"));
  await once(socket, "close");
}

const WHOLE = [
  request("GET /1"),
  `${request("POST /2", "Content-Length: 5")}hello`,
  `${request("POST /3", "Transfer-Encoding: chunked")}4\r\nwxyz\r\n3\r\nabc\r\n0\r\n\r\n`,
  `${request("PUT /4", "Content-Length: 41")}${request("GET /hidden")}`,
  request("DELETE /5", "Connection: keep-alive"),
  request("GET /6", "Content-Length: 0"),
];

const traffic = damaged(
  fc.array(fc.constantFrom(...WHOLE), { minLength: 1, maxLength: 3 }).map((requests) => requests.join("")),
  ["Connection: close\r\n", request("GET /7")],
);

describe("damaged traffic", () => {
  it("reaches the service as an independent strict parser reads it, or not at all", async () => {
    const behind = await startNotes();
    const direct = await startNotes();
    const gateway = await startTestGateway(`http://127.0.0.1:${behind.port}`);
    await fc.assert(
      // Without the bias towards extremes, which would damage little but the first byte.
      fc.asyncProperty(fc.noBias(traffic), async (bytes) => {
        await Promise.all([sendAll(gateway.port, bytes), sendAll(direct.port, bytes)]);
        const passedOn = behind.takeNotes();
        expect(passedOn).toEqual(direct.takeNotes().slice(0, passedOn.length));
      }),
      { numRuns: 800 },
    );
  });
});

import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteReader } from "../../../gateway/byte-reader.ts";
import { MessageBody } from "../../../gateway/message-body.ts";
import { readResponseHead } from "../../../gateway/message-head.ts";
import { damaged, RawClient, request, startRawService, startTestGateway } from "./support.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

/** Reads the answers in these pieces of a connection that ends after them; what cannot be read ends the list. */
async function readAnswers(pieces: readonly string[], isHead = false): Promise<string[]> {
  const connection = new PassThrough();
  const reader = new ByteReader(connection);
  for (const piece of pieces) connection.write(latin1(piece));
  connection.end();
  const answers: string[] = [];
  for (;;) {
    const head = await readResponseHead(reader, isHead);
    if (!head.ok && reader.unread === 0 && head.error === "ended") return answers;
    if (!head.ok) return [...answers, head.error === "ended" ? "ended" : "malformed"];
    const body = new MessageBody(reader, head.value.body);
    let text = `${head.value.status} `;
    while (!body.isRead) {
      const piece = await body.next();
      if (!piece.ok) return [...answers, piece.error === "ended" ? "ended" : "malformed"];
      text += piece.value.toString("latin1");
    }
    answers.push(text);
  }
}

const ANSWERS = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Any: a\r\n\r\nhello",
  "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length:0\r\n\r\n",
  "HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n4\r\nwxyz\r\n3\r\nabc\r\n0\r\n\r\n",
  "HTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
  "HTTP/1.1 418 I'm a te\xe4pot\r\nContent-Length: 1\r\n\r\nx",
];
const MEANT = ["200 hello", "201 ", "200 wxyzabc", "204 ", "304 ", "418 x"];

describe("reading answers", () => {
  it("gives the same wherever the bytes are cut", async () => {
    const bytes = ANSWERS.join("");
    expect(await readAnswers([bytes])).toEqual(MEANT);
    expect(await readAnswers([...bytes])).toEqual(MEANT);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
        const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
        const pieces = places.slice(1).map((end, index) => bytes.slice(places[index], end));
        expect(await readAnswers(pieces)).toEqual(MEANT);
      }),
    );
  });

  it("distinguishes a truncated answer from a complete one, wherever it ends", async () => {
    for (const [index, answer] of ANSWERS.entries()) {
      for (let end = 1; end < answer.length; end++) {
        expect(await readAnswers([answer.slice(0, end)])).not.toContain(MEANT[index]);
      }
    }
  });

  it("expects no body of the answer to HEAD, whatever the headers say", async () => {
    const heads = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(await readAnswers([heads, "HTTP/1.1 200 OK\r\n\r\n"], true)).toEqual(["200 ", "200 ", "200 "]);
  });

  it.each([
    ["no length", "HTTP/1.1 200 OK\r\n\r\nbody"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["another protocol", "ICY 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status above 599", "HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["two equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"],
    ["two lengths in one header", "HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n"],
    ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["a bare line feed", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
    ["a bare carriage return", "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 0\r\n\r\n"],
    ["a folded header", "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 0\r\n\r\n"],
    ["a blank before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n"],
    ["too long a head", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(40_000)}\r\nContent-Length: 0\r\n\r\n`],
    ["too many headers", `HTTP/1.1 200 OK\r\n${"X: a\r\n".repeat(200)}Content-Length: 0\r\n\r\n`],
    ["informational answers without an end", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)],
    ["a chunk with an extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n"],
    ["a field after the body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n"],
    ["a chunk longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n"],
  ])("finds it malformed: %s", async (_, bytes) => {
    expect(await readAnswers([bytes])).toEqual(["malformed"]);
  });
});

/** A service that answers the requests of each connection with the next of these texts, a piece at a time. */
async function startScript(...scripts: readonly (readonly string[])[]): Promise<{ url: string; opened: Socket[] }> {
  const opened: Socket[] = [];
  const url = await startRawService((socket) => {
    const script = [...(scripts[opened.length] ?? [])];
    opened.push(socket);
    socket.on("data", () => socket.write(latin1(script.shift() ?? "")));
  });
  return { url, opened };
}

const answerOf = (text: string, ...headers: string[]) =>
  ["HTTP/1.1 200 OK", `Content-Length: ${text.length}`, ...headers, "", text].join("\r\n");

describe("a connection to the service", () => {
  const forged = answerOf("forged");

  it.each([
    ["sends more than it was asked for", [answerOf("one") + forged]],
    ["closes after its answer", [answerOf("one", "Connection: close")]],
    ["contradicts itself about a body", ["HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"]],
  ])("is not used again when it %s", async (_, first) => {
    const { url, opened } = await startScript([...first, forged], [answerOf("two")]);
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("GET /v1/a"));
    await client.answer();
    await client.send(request("GET /v1/b"));
    expect((await client.answer()).body).toBe("two");
    expect(opened).toHaveLength(2);
  });

  it("is not used again when something came that nobody asked for", async () => {
    const { url, opened } = await startScript([answerOf("one")], [answerOf("two")]);
    const { port } = await startTestGateway(url);
    const client = await RawClient.connect(port);
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).body).toBe("one");
    const [first] = opened;
    await new Promise((resolve) => first?.write(forged, resolve));
    // Once the gateway answers another packet, it has seen the one before.
    const probe = await RawClient.connect(port);
    await probe.send("nonsense\r\n");
    await probe.answer();
    await client.send(request("GET /v1/b"));
    expect((await client.answer()).body).toBe("two");
  });

  it("is not used again after an answer whose client went before its end", async () => {
    const half = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf";
    const { url, opened } = await startScript([half, forged], [answerOf("two")]);
    const gateway = await startTestGateway(url);
    const gone = await RawClient.connect(gateway.port);
    await gone.send(request("GET /v1/a"));
    await gone.answer({ toHead: true });
    gone.socket.resetAndDestroy();
    await expect
      .poll(() => {
        const { requests } = gateway.figures();
        // The gateway gives the answer up with the next piece of it.
        if (requests > 0) opened[0]?.write("more");
        return requests;
      })
      .toBe(0);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/b"));
    expect((await client.answer()).body).toBe("two");
  });

  it("is not used again while the service has not taken the whole request that it answered", async () => {
    const length = 16 * 1024 * 1024;
    const opened: Socket[] = [];
    const url = await startRawService((socket) => {
      opened.push(socket);
      const text = opened.length === 1 ? "one" : "two";
      socket.once("data", () => socket.pause().write(latin1(answerOf(text))));
    });
    const client = await RawClient.connect((await startTestGateway(url, { maxBodyBytes: length })).port);
    await client.send(
      Buffer.concat([Buffer.from(request("POST /v1/a", `Content-Length: ${length}`)), Buffer.alloc(length)]),
    );
    expect((await client.answer()).body).toBe("one");
    await client.send(request("GET /v1/b"));
    expect((await client.answer()).body).toBe("two");
  });

  it("is used again after an answer without a body, one in chunks and one in pieces", async () => {
    const chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const { url, opened } = await startScript([
      "HTTP/1.1 204 No Content\r\n\r\n",
      chunks,
      answerOf("x".repeat(100_000)),
    ]);
    const client = await RawClient.connect((await startTestGateway(url)).port);
    const bodies: number[] = [];
    for (let count = 0; count < 3; count++) {
      await client.send(request("GET /v1/a"));
      bodies.push((await client.answer()).body.length);
    }
    expect(bodies).toEqual([0, 3, 100_000]);
    expect(opened).toHaveLength(1);
  });
});

const damagedAnswer = damaged(fc.constantFrom(...ANSWERS), ["HTTP/1.1 100 Continue\r\n\r\n"]);

/** What Node's own client makes of an answer, bytes after it aside; undefined when it refuses it or finds it incomplete. */
function readByNode(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer: string | undefined;
    const asked = get(url, { agent: false }, (response) => {
      let body = "";
      response.setEncoding("latin1").on("data", (piece: string) => {
        body += piece;
      });
      response.on("error", () => {});
      response.on("end", () => {
        if (response.complete) answer = `${response.statusCode} ${body}`;
        resolve(answer);
      });
      response.on("close", () => resolve(answer));
    });
    // An error of the bytes after an answer comes before the answer's end.
    asked.on("error", () => setImmediate(() => resolve(answer)));
  });
}

async function readThroughGateway(port: number): Promise<string | undefined> {
  const client = await RawClient.connect(port);
  await client.send(request("GET /v1/a"));
  const answer = await client.answer().catch(() => undefined);
  client.socket.destroy();
  return answer && `${answer.status} ${answer.body}`;
}

describe("a damaged answer", () => {
  it("reaches the client as an independent parser reads it, or not at all", async () => {
    let bytes = "";
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(latin1(bytes)));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { port } = await startTestGateway(url);
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(fc.noBias(damagedAnswer), async (damaged) => {
        bytes = damaged;
        const answer = await readThroughGateway(port);
        if (answer === undefined || answer.startsWith("502 ")) return;
        passed++;
        expect(answer).toBe(await readByNode(url));
      }),
      { numRuns: 500 },
    );
    expect(passed).toBeGreaterThan(20);
  });
});

import { describe, expect, it } from "vitest";
import { BodyRoom, holdBody } from "../../../gateway/held-body.ts";
import type { RequestBody } from "../../../gateway/request-body.ts";
import { err, ok } from "../../../src/base/result.ts";

/** A body of these pieces, which counts how many were asked for. */
function bodyOf(pieces: readonly string[]): { body: RequestBody; read: () => number } {
  let read = 0;
  const next = async () => {
    const piece = pieces[read++];
    return ok(piece === undefined ? undefined : Buffer.from(piece));
  };
  return { body: { next }, read: () => read };
}

async function contentOf(body: RequestBody): Promise<string> {
  let content = "";
  for (;;) {
    const piece = await body.next();
    if (!piece.ok) throw new Error("the body failed");
    if (piece.value === undefined) return content;
    content += piece.value.toString();
  }
}

async function hold(body: RequestBody, maxBytes: number, room: BodyRoom) {
  const held = await holdBody(body, maxBytes, room);
  if (!held.ok) throw new Error("the body failed");
  return held.value;
}

describe("holding a body back", () => {
  it.each([
    ["empty", [], 1],
    ["in one piece", ["abc"], 2],
    ["in many pieces", ["a", "bc", "defghij", "k"], 5],
  ])("waits for the end of one that is %s", async (_, pieces, asked) => {
    const { body, read } = bodyOf(pieces);
    const held = await hold(body, 100, new BodyRoom(1000));
    expect(read()).toBe(asked);
    expect(await contentOf(held)).toBe(pieces.join(""));
    expect(read()).toBe(asked);
  });

  it("does not wait for more than the limit", async () => {
    const { body, read } = bodyOf(["abc", "def", "ghi"]);
    const held = await hold(body, 5, new BodyRoom(1000));
    expect(read()).toBe(2);
    expect(await contentOf(held)).toBe("abcdefghi");
  });

  it("does not wait when there is no room, and loses nothing", async () => {
    const { body, read } = bodyOf(["abc", "def", "ghi"]);
    const held = await hold(body, 100, new BodyRoom(5));
    expect(read()).toBe(2);
    expect(await contentOf(held)).toBe("abcdefghi");
  });

  it("gives the room back, also after a body that failed", async () => {
    const room = new BodyRoom(3);
    for (let count = 0; count < 3; count++) (await hold(bodyOf(["abc"]).body, 100, room)).release();
    let sent = false;
    const failing: RequestBody = {
      next: async () => {
        if (sent) return err("disconnected");
        sent = true;
        return ok(Buffer.from("abc"));
      },
    };
    expect(await holdBody(failing, 100, room)).toEqual({ ok: false, error: "disconnected" });
    expect(room.take(3)).toBe(true);
  });
});

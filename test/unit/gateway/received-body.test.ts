import { describe, expect, it } from "vitest";
import { BodyPages } from "../../../gateway/body-pages.ts";
import type { MessageBody } from "../../../gateway/message-body.ts";
import { type BodyPlace, receiveBody } from "../../../gateway/received-body.ts";
import { Shares } from "../../../gateway/shares.ts";
import { err, ok } from "../../../src/base/result.ts";

const STEP = 16 * 1024;

/** A body of these pieces, the first of which is here at once. */
function bodyOf(pieces: readonly string[]): MessageBody {
  const left = pieces.map((piece) => Buffer.from(piece));
  return {
    takeWhole: () => (left.length > 1 ? undefined : (left.shift() ?? Buffer.alloc(0))),
    more: async () => left.length > 0,
    next: async () => ok(left.shift()),
  };
}

function placeIn(room: Shares): BodyPlace {
  return { maxBytes: 8 * STEP, room, pages: new BodyPages(), key: "a" };
}

describe("receiving a body", () => {
  it.each([
    ["empty", []],
    ["in one piece", ["abc"]],
    ["in many pieces", ["a", "bc", "defghij", "k"]],
    ["longer than a step of room", ["a".repeat(STEP), "b", "c".repeat(3 * STEP)]],
  ])("gives all of one that is %s, and its room back", async (_, pieces) => {
    const room = new Shares(8 * STEP, 8 * STEP);
    const counts: number[] = [];
    const received = await receiveBody(bodyOf(pieces), placeIn(room), (bytes) => counts.push(bytes));
    if (!received.ok) throw new Error("the body failed");
    expect(Buffer.concat(received.value.pieces).toString()).toBe(pieces.join(""));
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
    received.value.release(true);
    expect(room.take("a", 8 * STEP)).toBe(true);
  });

  it("takes no room for one that comes at once", async () => {
    const received = await receiveBody(bodyOf(["abc"]), placeIn(new Shares(0, 0)), () => {});
    expect(received).toMatchObject({ ok: true, value: { pieces: [Buffer.from("abc")] } });
  });

  it("counts a few bytes as a step of room", async () => {
    const room = new Shares(3 * STEP, 3 * STEP);
    await receiveBody(bodyOf(["a", "b"]), placeIn(room), () => {});
    expect(room.take("a", 2 * STEP)).toBe(true);
    expect(room.take("a", 1)).toBe(false);
  });

  it("refuses one for which there is no room, and gives back what it had", async () => {
    const room = new Shares(2 * STEP, 2 * STEP);
    const body = bodyOf(["a".repeat(STEP), "b".repeat(STEP), "c"]);
    expect(await receiveBody(body, placeIn(room), () => {})).toMatchObject({ ok: false, error: { status: 503 } });
    expect(room.take("a", 2 * STEP)).toBe(true);
  });

  it("gives the room back of one that fails", async () => {
    const room = new Shares(STEP, STEP);
    let sent = false;
    const failing: MessageBody = {
      takeWhole: () => undefined,
      more: async () => !sent,
      next: async () => {
        if (sent) return err("ended");
        sent = true;
        return ok(Buffer.from("abc"));
      },
    };
    expect(await receiveBody(failing, placeIn(room), () => {})).toEqual({ ok: false, error: "disconnected" });
    expect(room.take("a", STEP)).toBe(true);
  });
});

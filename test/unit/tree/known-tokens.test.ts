import { beforeEach, describe, expect, it } from "vitest";
import { indexWatermarks, NO_WATERMARKS, type Watermarks } from "../../../src/system/watermarks.ts";
import { PLAIN_RECORD, type TokenView } from "../../../src/token/record.ts";
import {
  type KnownTokens,
  knownToken,
  NO_KNOWN_TOKENS,
  SharedKnownTokens,
  type TokenPublisher,
} from "../../../src/tree/known-tokens.ts";
import type { TokenRow } from "../../../src/tree/token-rows.ts";

const NOW = 1_700_000_000_000;
const VERIFIER = new Uint8Array(24).fill(7);

let trees = 0;
let known: KnownTokens;
let treeId: string;
/** Ends the write to disk that the publisher waits for; absent while it waits for none. */
let finishWrite: (() => void) | null;
let tree: TokenPublisher;

/** The next object of the tree, as after a restart. */
function startTree(): TokenPublisher {
  return known.publisherOf(
    treeId,
    () =>
      new Promise((resolve) => {
        finishWrite = resolve;
      }),
  );
}

beforeEach(() => {
  known = new SharedKnownTokens();
  treeId = `tree-${++trees}`;
  finishWrite = null;
  tree = startTree();
});

interface Found {
  readonly usesLeft?: number;
  readonly boundCidrs?: readonly string[];
  readonly watermarks?: Watermarks;
  readonly until?: number | null;
}

/** The tree finds its token alive. */
function find({ usesLeft = 0, boundCidrs = [], watermarks = NO_WATERMARKS, until = null }: Found = {}): void {
  const view: TokenView = {
    ...PLAIN_RECORD,
    ...{ policies: ["default"], displayName: "token", path: "auth/token/create", createdAt: NOW, creationTtl: 0 },
    ...{ treeId, row: 1, accessor: "accessor", orphan: true, grantedTtl: 0, expiresAt: until, renewedAt: null },
    usesLeft,
    boundCidrs,
  };
  const changing = { row: 1, parent: null, state: 0, grantedTtl: 0, expiresAt: until, renewedAt: null, ended: null };
  const fixed = { verifier: VERIFIER, accessorTail: new Uint8Array(24), accessor: "accessor", record: view };
  const row: TokenRow = { ...changing, usesLeft, fixed };
  tree.found(row, view, watermarks, () => until);
}

/** Lets the write to disk end that the publisher waits for. */
async function onDisk(): Promise<void> {
  finishWrite?.();
  finishWrite = null;
  await Promise.resolve();
}

const isKnown = (watermarks = NO_WATERMARKS, now = NOW, verifier = VERIFIER) =>
  knownToken(known, { treeId, row: 1, verifier }, watermarks, now) !== null;

describe("a token of a tree in the same isolate", () => {
  it("is known once it was found alive, to the holder of the token alone", () => {
    expect(isKnown()).toBe(false);
    find();
    expect([isKnown(), known.find(treeId, 1, NO_WATERMARKS, NOW) !== null]).toEqual([true, true]);
    expect(isKnown(NO_WATERMARKS, NOW, new Uint8Array(24).fill(8))).toBe(false);
    expect(known.find(treeId, 2, NO_WATERMARKS, NOW)).toBe(null);
  });

  it("is unknown from the step on in which the tree changes", () => {
    find();
    tree.changed();
    expect(isKnown()).toBe(false);
  });

  it("is not known before the last change of its tree is on disk: a crash would undo it", async () => {
    tree.changed();
    find();
    expect(isKnown()).toBe(false);
    await onDisk();
    expect(isKnown()).toBe(false);
    find();
    expect(isKnown()).toBe(true);
  });

  it("is not known while a change waits for the disk that came after the write began", async () => {
    tree.changed();
    find();
    tree.changed();
    await onDisk();
    find();
    expect(isKnown()).toBe(false);
    await onDisk();
    find();
    expect(isKnown()).toBe(true);
  });

  it("is known under the watermarks alone that it was checked against", () => {
    find();
    const later = indexWatermarks([{ number: 1, scope: "path:auth/", createdBefore: null, cleaned: false }], 1);
    expect([isKnown(later), isKnown()]).toEqual([false, true]);
    find({ watermarks: later });
    expect([isKnown(later), isKnown()]).toEqual([true, false]);
  });

  it("is known until it, or what it hangs on, expires", () => {
    find({ until: NOW + 1_000 });
    expect([isKnown(NO_WATERMARKS, NOW + 999), isKnown(NO_WATERMARKS, NOW + 1_000)]).toEqual([true, false]);
  });

  it("is never known with limited uses or bound to networks: each use has to be judged", () => {
    find({ usesLeft: 2 });
    expect(isKnown()).toBe(false);
    find({ boundCidrs: ["192.0.2.0/24"] });
    expect(isKnown()).toBe(false);
  });

  it("is unknown to an isolate when the object of its tree starts again", () => {
    find();
    tree = startTree();
    expect(isKnown()).toBe(false);
  });

  it("is never known on the network, where the tree is in another isolate", () => {
    known = NO_KNOWN_TOKENS;
    tree = known.publisherOf(treeId, () => Promise.resolve());
    find();
    expect(isKnown()).toBe(false);
  });
});

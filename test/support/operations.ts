/**
 * What requests cost, in calls to objects and rows: the one table that test/workers/app/operations.test.ts measures. A change of hops or
 * rows is a change here and in the first table of docs/scale.md.
 */

/** What the calls of one method cost together. */
export interface Cost {
  /** How often it is called. */
  readonly times: number;
  /** Of the object and of what it does afterwards, for all the times together. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** Calls to objects by `Class.method`. */
export type Calls = Readonly<Record<string, Cost>>;

/** What one request costs an isolate that has read the installation. */
export interface Operation {
  readonly title: string;
  /** What the answer waits for. */
  readonly calls: Calls;
  /** What follows from it when the answer is out. */
  readonly afterwards?: Calls;
}

/** The cost of a method's calls in the form of the table. */
export function cost(rowsRead: number, rowsWritten: number, times = 1): Cost {
  return { times, rowsRead, rowsWritten };
}

export const OPERATIONS = {
  lookUp: {
    title: "look-up of oneself",
    calls: { "TokenTree.run": cost(1, 0) },
  },
  lookUpOfEntity: {
    title: "same, of an entity that the isolate does not know",
    calls: { "TokenTree.run": cost(2, 0), "EntityShard.entity": cost(1, 0) },
  },
  lookUpOfBatch: {
    title: "look-up of an orphan batch token, likewise",
    calls: { "EntityShard.entity": cost(1, 0) },
  },
  createChild: {
    title: "creation of a child",
    calls: { "TokenTree.run": cost(3, 3) },
    afterwards: { "AccessorShard.applyUpdates": cost(6, 6, 2) },
  },
  createByRole: {
    title: "creation of a child by a token role",
    calls: { "TokenTree.run": cost(3, 3) },
    afterwards: { "AccessorShard.applyUpdates": cost(6, 6, 2) },
  },
  createOrphan: {
    title: "creation of an orphan",
    calls: { "TokenTree.run": cost(1, 0), "TokenTree.create": cost(2, 3) },
    afterwards: { "AccessorShard.applyUpdates": cost(3, 5, 2) },
  },
  createBatch: {
    title: "creation of a batch token",
    calls: { "TokenTree.run": cost(1, 0) },
  },
  renew: {
    title: "renewal of oneself",
    calls: { "TokenTree.run": cost(5, 2) },
    afterwards: { "AccessorShard.applyUpdates": cost(2, 2) },
  },
  renewLogin: {
    title: "renewal of a token of a login",
    calls: { "TokenTree.run": cost(2, 0), "TokenTree.act": cost(2, 1) },
    afterwards: { "AccessorShard.applyUpdates": cost(2, 2) },
  },
  revoke: {
    title: "revocation of a leaf, and its sweep",
    calls: { "TokenTree.run": cost(2, 2) },
    afterwards: {
      "TokenTree.alarm": cost(17, 2),
      "AccessorShard.remove": cost(5, 4),
      "AccessorShard.applyUpdates": cost(3, 1),
    },
  },
  loginByDocument: {
    title: "login by the document of a machine",
    calls: {
      "CloudLookups.ask": cost(0, 0),
      // Three rows in a shard that slept, none in one that is awake.
      "CloudAccessList.enterLogin": cost(2, 2),
      "EntityShard.logIn": cost(1, 0),
      "TokenTree.create": cost(2, 3),
    },
    afterwards: { "AccessorShard.applyUpdates": cost(3, 5, 2) },
  },
  loginBySignature: {
    title: "login by a signed request",
    calls: {
      "EntityShard.logIn": cost(1, 0),
      "TokenTree.create": cost(2, 3),
    },
    afterwards: { "AccessorShard.applyUpdates": cost(3, 5, 2) },
  },
  loginForBatch: {
    title: "same, for a batch token",
    calls: {
      "EntityShard.logIn": cost(1, 0),
    },
  },
  listAccessors: {
    title: "a list of one accessor",
    calls: { "TokenTree.run": cost(1, 0), "AccessorShard.list": cost(16, 0, 16) },
  },
} as const satisfies Record<string, Operation>;

/**
 * What follows from the expiry of a single token of a tree, without any request: the shard that lists it asks the tree. Its alarm
 * asks for all that end in about the same second.
 */
export const END_OF_LONE = {
  "AccessorShard.alarm": cost(9, 4),
  "TokenTree.endSingleToken": cost(14, 1),
} as const satisfies Calls;

/** The operations without a record in the audit store. */
const UNRECORDED: ReadonlySet<keyof typeof OPERATIONS> = new Set([
  "lookUp",
  "lookUpOfEntity",
  "lookUpOfBatch",
  "listAccessors",
]);

/** The calls to the audit store that the answer of an operation waits for. */
export function recordOf(name: OperationName): Calls {
  return UNRECORDED.has(name) ? {} : { "AuditShard.append": cost(3, 2) };
}

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

/** An operation, and what follows from it. */
export function allCalls(name: OperationName): Calls {
  const { calls, afterwards }: Operation = OPERATIONS[name];
  return { ...calls, ...afterwards };
}

/** The methods that an answer waits for, in alphabetical order. */
export function methodsOf(name: OperationName): string[] {
  return Object.keys(OPERATIONS[name].calls).sort();
}

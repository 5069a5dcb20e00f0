import { CLUSTER, ONE_PROCESS as ONE_ISOLATE } from "../../../../src/app/deployments.ts";
import type { InventoryEntry } from "../../../../src/listing/inventory/entry.ts";
import { firstRowAt, rowGeneratedAt } from "../../../../src/token/ids.ts";
import type { TreeDeployment } from "../../../../src/tree/deployment.ts";
import {
  dueAt,
  floorAfter,
  isLeftToShard,
  type Life,
  listingDue,
  NEW_TREE,
  next,
  releaseSteps,
  type TreeEvent,
} from "../../../../src/tree/lifecycle.ts";
import { NewTokens } from "../../../../src/tree/updates/unlisted-tokens.ts";

/*
 * A model of trees, isolates and one shard, which performs what `lifecycle.ts` decides. What is on disk survives the end of an
 * isolate; what is in memory does not. Between two steps that are one transaction each an isolate can end.
 */

export interface Operation {
  readonly kind:
    | "create"
    | "create alone"
    | "child"
    | "read"
    | "deliver"
    | "revoke"
    | "pass"
    | "tree alarms"
    | "shard alarm"
    | "crash"
    | "move"
    | "clock back";
  readonly pick: number;
  readonly endsAt: number;
  readonly ms: number;
  readonly ttl: number | null;
}

class IsolateEnds extends Error {
  readonly isolate: number;

  constructor(isolate: number) {
    super("an isolate ends");
    this.isolate = isolate;
  }
}

interface Token {
  readonly parent: number | null;
  readonly expiresAt: number | null;
  isRevoked: boolean;
}

interface Update {
  readonly tree: Tree;
  readonly row: number;
  readonly kind: "made" | "started";
  readonly inLedger: boolean;
}

interface Tree {
  readonly id: number;
  /** The isolate that runs it. */
  isolate: number;
  disk: { isCreated: boolean; tokens: Map<number, Token>; mark: number | null; floor: number; alarm: number | null };
  memory: { life: Life; news: NewTokens } | null;
}

const SHARD = 0;
const WORKER = 1;
const START = Date.UTC(2026, 5, 1);

class World {
  readonly #deployment: TreeDeployment;
  now = START;
  readonly trees: Tree[] = [];
  readonly violations: string[] = [];
  /** Queues of updates, by isolate. */
  readonly #queues = new Map<number, Map<string, Update>>();
  #stock: { readonly tree: Tree; readonly at: number }[] = [];
  /** On the disk of the shard: allocated trees, free ones, and the list. */
  readonly ledger = new Map<Tree, number>();
  readonly pool = new Set<Tree>();
  readonly list = new Map<string, { readonly tree: Tree; readonly row: number; readonly isSingle: boolean }>();
  readonly #used = new Set<string>();
  /** Steps until an isolate ends. */
  #left = Number.POSITIVE_INFINITY;

  constructor(deployment: TreeDeployment) {
    this.#deployment = deployment;
  }

  run(operation: Operation): void {
    this.#left = operation.endsAt;
    try {
      this.#perform(operation);
    } catch (error) {
      if (!(error instanceof IsolateEnds)) throw error;
      this.#endIsolate(error.isolate);
    }
    this.#left = Number.POSITIVE_INFINITY;
  }

  #perform({ kind, pick, ms, ttl }: Operation): void {
    const tree = this.trees[pick % Math.max(1, this.trees.length)];
    if (kind === "create") this.#createSomewhere(ttl, pick);
    else if (kind === "create alone") this.#create(this.#newTree(), false, ttl, pick);
    else if (kind === "deliver")
      this.#deliver([...this.#queues.keys()][pick % Math.max(1, this.#queues.size)] ?? WORKER);
    else if (kind === "pass") this.now += ms;
    else if (kind === "clock back") this.now -= ms;
    else if (kind === "tree alarms") for (const one of this.trees) this.#ring(one);
    else if (kind === "shard alarm") this.#shardAlarm();
    else if (kind === "crash") this.#endIsolate(tree?.isolate ?? WORKER);
    else if (tree) this.#performIn(tree, { kind, pick, ttl });
  }

  #performIn(tree: Tree, { kind, pick, ttl }: Pick<Operation, "kind" | "pick" | "ttl">): void {
    if (kind === "child") this.#child(tree, ttl, pick);
    else if (kind === "revoke") this.#revoke(tree, pick);
    else if (kind === "read" && tree.memory) this.#read(tree);
    else if (kind === "move" && this.#deployment !== ONE_ISOLATE) this.#move(tree, pick);
  }

  /** Nothing ends any more, and time passes until nothing is due. */
  comeToRest(): void {
    for (let round = 0; round < 12; round++) {
      for (let call = 0; call < 2; call++) for (const isolate of this.#queues.keys()) this.#deliver(isolate);
      this.now += 62_000;
      for (const tree of this.trees) this.#ring(tree);
      this.#shardAlarm();
    }
  }

  /** A tree with an alarm, or the first token of a tree in the ledger, is somebody's to list. */
  check(): void {
    for (const tree of this.trees) {
      const { tokens, alarm } = tree.disk;
      for (const row of tokens.keys()) {
        if (!this.#isAlive(tree, row) || this.list.has(keyOf(tree, row)) || alarm !== null) continue;
        if (this.ledger.has(tree) && row === Math.min(...tokens.keys())) continue;
        this.violations.push(`tree ${tree.id} row ${row}: not listed, and nothing is due`);
      }
    }
  }

  checkRest(): void {
    for (const tree of this.trees) {
      const { tokens, alarm, isCreated } = tree.disk;
      for (const row of tokens.keys()) {
        if (!this.#isAlive(tree, row)) this.violations.push(`tree ${tree.id} row ${row}: dead, and not swept`);
        else if (!this.list.has(keyOf(tree, row))) this.violations.push(`tree ${tree.id} row ${row}: not listed`);
      }
      if (alarm !== null && alarm <= this.now) this.violations.push(`tree ${tree.id}: its alarm does not come to rest`);
      if (tokens.size > 0) continue;
      if (this.#deployment.reusesTrees && this.#wasUsed(tree) && !this.pool.has(tree))
        this.violations.push(`tree ${tree.id}: empty, and in no pool`);
      if (!this.#deployment.reusesTrees && isCreated) this.violations.push(`tree ${tree.id}: empty, and not deleted`);
    }
    for (const [key, { tree, row }] of this.list)
      if (!this.#isAlive(tree, row)) this.violations.push(`${key}: listed, and not alive`);
  }

  #wasUsed({ id }: Tree): boolean {
    return [...this.#used].some((key) => key.startsWith(`${id}/`));
  }

  /** A transaction has ended here. An isolate can end before the next one. */
  #step(isolate: number): void {
    if (this.#left-- <= 0) throw new IsolateEnds(isolate);
  }

  #endIsolate(isolate: number): void {
    for (const tree of this.trees) if (tree.isolate === isolate) tree.memory = null;
    this.#queues.delete(isolate);
    if (isolate === WORKER) this.#stock = [];
  }

  #move(tree: Tree, pick: number): void {
    tree.memory = null;
    tree.isolate = WORKER + (pick % 2);
  }

  #newTree(): Tree {
    const id = this.trees.length;
    const isolate = this.#deployment === ONE_ISOLATE ? WORKER : WORKER + (this.#deployment === CLUSTER ? id % 2 : id);
    const disk = { isCreated: false, tokens: new Map(), mark: null, floor: 0, alarm: null };
    const tree = { id, isolate, disk, memory: null };
    this.trees.push(tree);
    return tree;
  }

  #createSomewhere(ttl: number | null, pick: number): void {
    // A request can take long from the allocation to the creation.
    const isSlow = pick % 4 === 0;
    this.#stock = this.#stock.filter(({ at }) => isSlow || (at > this.now - 30_000 && at <= this.now));
    if (this.#stock.length === 0) {
      const again = [...this.pool].slice(-2);
      const trees = again.length > 0 ? again : [this.#newTree(), this.#newTree()];
      for (const tree of trees) {
        this.pool.delete(tree);
        this.ledger.set(tree, this.now);
      }
      this.#step(WORKER);
      this.#stock.push(...trees.map((tree) => ({ tree, at: this.now })));
    }
    const { tree } = this.#stock.pop() ?? { tree: this.#newTree() };
    this.#step(WORKER);
    if (!this.#create(tree, true, ttl, pick)) this.#create(this.#newTree(), false, ttl, pick);
  }

  #create(tree: Tree, inLedger: boolean, ttl: number | null, pick: number): boolean {
    const { disk } = tree;
    const { news } = this.#wake(tree);
    const row = firstRowAt(this.now) + (pick % 3);
    if (disk.tokens.size > 0 || row <= disk.floor) return false;
    disk.mark = null;
    this.#insert(tree, row, null, ttl);
    this.#happened(tree, { kind: "created", inLedger, now: this.now });
    this.#queue(tree.isolate).set(keyOf(tree, row), { tree, row, kind: "made", inLedger });
    if (!isLeftToShard(this.#lifeOf(tree))) news.started(row, String(row));
    this.#arm(tree);
    return true;
  }

  #child(tree: Tree, ttl: number | null, pick: number): void {
    const { disk } = tree;
    const parent = [...disk.tokens.keys()].find((row) => this.#isAlive(tree, row));
    const row = firstRowAt(this.now) + 3 + (pick % 3);
    if (parent === undefined || row <= disk.floor || disk.tokens.has(row)) return;
    const { life, news } = this.#wake(tree);
    disk.mark ??= isLeftToShard(life) ? Math.max(...disk.tokens.keys()) : 0;
    disk.mark = Math.min(disk.mark, row - 1);
    this.#insert(tree, row, parent, ttl);
    this.#happened(tree, { kind: "child", now: this.now });
    news.written(row);
    this.#arm(tree);
  }

  #insert(tree: Tree, row: number, parent: number | null, ttl: number | null): void {
    const key = keyOf(tree, row);
    if (this.#used.has(key)) this.violations.push(`tree ${tree.id} row ${row}: used twice`);
    this.#used.add(key);
    tree.disk.isCreated = true;
    tree.disk.tokens.set(row, { parent, expiresAt: ttl === null ? null : this.now + ttl, isRevoked: false });
  }

  #revoke(tree: Tree, pick: number): void {
    const rows = [...tree.disk.tokens.keys()];
    const token = tree.disk.tokens.get(rows[pick % Math.max(1, rows.length)] ?? 0);
    if (!token) return;
    this.#wake(tree);
    token.isRevoked = true;
    this.#arm(tree);
  }

  /** What the timer of a tree does. */
  #read(tree: Tree): void {
    const { news } = this.#wake(tree);
    this.#happened(tree, { kind: "acknowledged", progress: news.noteListed(), now: this.now });
    news.enqueue();
  }

  /** Sends the queue of an isolate to the shard. The isolate can end before it has the answer. */
  #deliver(isolate: number): void {
    const queue = this.#queues.get(isolate);
    const updates = [...(queue?.values() ?? [])];
    if (!queue || updates.length === 0) return;
    for (const { tree, row, kind } of updates) {
      if (kind === "made") this.list.set(keyOf(tree, row), { tree, row, isSingle: tree.disk.tokens.size <= 1 });
      else this.#settleLedger(tree, row);
    }
    this.#step(isolate);
    queue.clear();
    for (const update of updates) this.#noteStarted(isolate, update);
  }

  #noteStarted(isolate: number, update: Update | undefined): void {
    if (update?.kind !== "made" || !update.inLedger) return;
    this.#queue(isolate).set(`started ${keyOf(update.tree, update.row)}`, { ...update, kind: "started" });
  }

  #settleLedger(tree: Tree, row: number): void {
    const at = this.ledger.get(tree);
    if (at !== undefined && at <= rowGeneratedAt(row) + this.#deployment.clockSkewMs) this.ledger.delete(tree);
  }

  #ring(tree: Tree): void {
    const { disk } = tree;
    const { alarm } = disk;
    if (alarm === null || alarm > this.now) return;
    this.#wake(tree);
    disk.alarm = null;
    try {
      if (!disk.isCreated) return;
      this.#sweep(tree);
      const { news } = this.#wake(tree);
      const listing = listingDue(this.#lifeOf(tree), news.hasUnlisted);
      if (listing === "updates") this.#publishAll(tree);
      if (listing === "first token") this.#listFirst(tree);
      this.#settle(tree);
    } catch (error) {
      // The platform repeats an alarm that was not finished.
      disk.alarm ??= alarm;
      throw error;
    }
  }

  #sweep(tree: Tree): void {
    const rows = [...tree.disk.tokens.keys()].filter((row) => !this.#isAlive(tree, row));
    if (rows.length === 0) return;
    this.#cancelUpdates(tree, rows);
    const areLast = this.#deployment.reusesTrees && !isLarge(tree) && rows.length === tree.disk.tokens.size;
    this.#happened(tree, { kind: "delisted", areLast });
    for (const row of rows) this.list.delete(keyOf(tree, row));
    if (areLast) this.pool.add(tree);
    this.#step(tree.isolate);
    this.#delete(tree, rows);
    this.#step(tree.isolate);
  }

  #delete({ disk }: Tree, rows: readonly number[]): void {
    for (const row of rows) disk.tokens.delete(row);
    const isEmpty = disk.tokens.size === 0;
    disk.floor = Math.max(disk.floor, floorAfter(Math.max(...rows), isEmpty, this.#deployment.reusesTrees, this.now));
  }

  #cancelUpdates(tree: Tree, rows: readonly number[]): void {
    const queue = this.#queue(tree.isolate);
    for (const row of rows) {
      const update = queue.get(keyOf(tree, row));
      queue.delete(keyOf(tree, row));
      this.#noteStarted(tree.isolate, update);
    }
  }

  #publishAll(tree: Tree): void {
    this.#wake(tree).news.enqueue();
    this.#deliver(tree.isolate);
    this.#read(tree);
  }

  #listFirst(tree: Tree): void {
    const [row] = [...tree.disk.tokens.keys()].sort((a, b) => a - b);
    const isAlive = row !== undefined && this.#isAlive(tree, row);
    if (isAlive) {
      this.#queue(tree.isolate).set(keyOf(tree, row), { tree, row, kind: "made", inLedger: false });
      this.#deliver(tree.isolate);
    }
    this.#happened(tree, { kind: "first token listed", isAlive });
  }

  #settle(tree: Tree): void {
    const { disk } = tree;
    if (!disk.isCreated) return;
    if (disk.tokens.size === 0) {
      const { life, news } = this.#wake(tree);
      const { reusesTrees } = this.#deployment;
      news.forget();
      const steps = releaseSteps(life, reusesTrees, isLarge(tree));
      this.#happened(tree, { kind: "released", isReused: reusesTrees });
      const floor = reusesTrees ? disk.floor : 0;
      this.#step(tree.isolate);
      if (steps.returnsId) this.pool.add(tree);
      this.#step(tree.isolate);
      if (steps.deletesStorage) tree.disk = { isCreated: false, tokens: new Map(), mark: null, floor, alarm: null };
    }
    this.#arm(tree);
  }

  #shardAlarm(): void {
    for (const [tree, at] of [...this.ledger]) {
      if (at > this.now - 60_000) continue;
      if (this.#report(tree)) this.pool.add(tree);
      this.#step(SHARD);
      this.ledger.delete(tree);
    }
    for (const [key, { tree, row, isSingle: isAlone }] of [...this.list]) {
      const token = tree.disk.tokens.get(row);
      const isDue = !token || (token.expiresAt !== null && token.expiresAt <= this.now - 1000);
      if (!isAlone || !isDue) continue;
      const answer = this.#endSingleToken(tree, row);
      this.#step(SHARD);
      if (!answer.isGone) continue;
      this.list.delete(key);
      if (answer.isReusable) this.pool.add(tree);
    }
  }

  #report(tree: Tree): boolean {
    this.#wake(tree);
    if (tree.disk.tokens.size === 0) {
      const isReusable = this.#deployment.reusesTrees;
      this.#happened(tree, { kind: "asked while empty", isReusable });
      return isReusable;
    }
    this.#listFirst(tree);
    this.#arm(tree);
    return false;
  }

  #endSingleToken(tree: Tree, row: number): { readonly isGone: boolean; readonly isReusable: boolean } {
    const { tokens, isCreated } = tree.disk;
    const { reusesTrees } = this.#deployment;
    if (!isCreated) return { isGone: true, isReusable: reusesTrees };
    this.#wake(tree);
    if (this.#isAlive(tree, row)) return { isGone: false, isReusable: false };
    if (tokens.size === 1 && tokens.has(row)) {
      this.#cancelUpdates(tree, [row]);
      this.#delete(tree, [row]);
      this.#step(tree.isolate);
    }
    if (tokens.has(row)) {
      this.#happened(tree, { kind: "end is due" });
      this.#arm(tree);
      return { isGone: false, isReusable: false };
    }
    this.#happened(tree, { kind: "delisted", areLast: tokens.size === 0 });
    this.#settle(tree);
    return { isGone: true, isReusable: reusesTrees && tokens.size === 0 };
  }

  /** The tree in memory. An object that starts with tables reads its state from them and from its alarm. */
  #wake(tree: Tree): NonNullable<Tree["memory"]> {
    if (tree.memory) return tree.memory;
    const news = this.#newTokensOf(tree);
    tree.memory = { life: NEW_TREE, news };
    const { isCreated, alarm, mark } = tree.disk;
    if (!isCreated) return tree.memory;
    const tokens = mark === null ? "single" : "many";
    const { hasUnlisted } = news;
    this.#happened(tree, { kind: "woke", tokens, hasUnlisted, alarmAt: alarm, isAlarmLost: false, now: this.now });
    this.#arm(tree);
    return tree.memory;
  }

  #newTokensOf(tree: Tree): NewTokens {
    const above = (after: number) => {
      const { mark, tokens } = tree.disk;
      return mark === null ? [] : [...tokens.keys()].filter((row) => row > Math.max(mark, after)).sort((a, b) => a - b);
    };
    const mark = {
      outbox: (after: number, limit: number) => above(after).slice(0, limit),
      listed: (row: number) => {
        if (tree.disk.mark !== null) tree.disk.mark = Math.max(tree.disk.mark, row);
      },
    };
    return new NewTokens(mark, {
      describe: (rows) =>
        rows.filter((row) => this.#isAlive(tree, row)).map((row) => ({ accessor: String(row) }) as InventoryEntry),
      publish: ({ accessor }) => {
        const row = Number(accessor);
        this.#queue(tree.isolate).set(keyOf(tree, row), { tree, row, kind: "made", inLedger: false });
      },
      isOnItsWay: (accessor) => this.#queue(tree.isolate).has(keyOf(tree, Number(accessor))),
    });
  }

  #arm(tree: Tree): void {
    const { tokens, alarm, isCreated } = tree.disk;
    if (!isCreated) return;
    const hasDead = [...tokens.values()].some(({ isRevoked }) => isRevoked);
    const expiries = [...tokens.values()].flatMap(({ expiresAt }) => expiresAt ?? []);
    const sweepAt = hasDead ? this.now : expiries.length === 0 ? null : Math.min(...expiries);
    const due = dueAt(this.#lifeOf(tree), { sweepAt, hasDead, leaseAt: null, sweptByCaller: false }, this.now);
    if (due !== null && due < (alarm ?? Number.POSITIVE_INFINITY)) tree.disk.alarm = due;
  }

  #happened(tree: Tree, event: TreeEvent): void {
    if (tree.memory) tree.memory.life = next(tree.memory.life, event);
  }

  #lifeOf(tree: Tree): Life {
    return tree.memory?.life ?? NEW_TREE;
  }

  #queue(isolate: number): Map<string, Update> {
    const queue = this.#queues.get(isolate) ?? new Map<string, Update>();
    this.#queues.set(isolate, queue);
    return queue;
  }

  #isAlive(tree: Tree, row: number): boolean {
    const token = tree.disk.tokens.get(row);
    if (!token || token.isRevoked || (token.expiresAt !== null && token.expiresAt <= this.now)) return false;
    return token.parent === null || this.#isAlive(tree, token.parent);
  }
}

/** True for trees whose files become too large to be kept. */
function isLarge({ id }: Tree): boolean {
  return id % 3 === 0;
}

function keyOf(tree: Tree, row: number): string {
  return `${tree.id}/${row}`;
}

/** Runs a history, checks after each operation, and returns what is wrong. */
export function runHistory(deployment: TreeDeployment, history: readonly Operation[]): string[] {
  const world = new World(deployment);
  for (const operation of history) {
    world.run(operation);
    world.check();
    if (world.violations.length > 0) return world.violations;
  }
  world.comeToRest();
  world.checkRest();
  return world.violations;
}

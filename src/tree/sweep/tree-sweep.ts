import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { FIRST_PIECE, rowsOfNextPiece, type SweepTurns } from "../../base/shared-thread.ts";
import type { Ending } from "../../listing/inventory/ended-tokens.ts";
import { UPDATES } from "../../listing/updates/publish.ts";
import { removeFromLists } from "../../listing/updates/remove-from-lists.ts";
import { countEvent } from "../../metrics/counters.ts";
import type { EndRecord } from "../../token/end-record.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import { customIdsShard, customIdsShardNumber } from "../custom-ids.ts";
import type { TreeRelease } from "../supply/tree-release.ts";
import type { TreeParts } from "../tree-parts.ts";
import { DeadTokens, deleteVictims, type SweepCandidate } from "./dead-tokens.ts";

/** Maximum tokens of one step: some 200 for each shard of the list, which cost little more than a few. */
const STEP_ROWS = 3200;
/** Rows that a piece of planning reads. It reads indexes only. */
const PLAN_ROWS = 500;
/**
 * Maximum steps of one alarm. Their calls to the shards of accessors and of custom ids stay below the 1,000 that the
 * platform allows. The next alarm does the rest.
 */
const SWEEP_STEPS = 30;
/** Time after its creation from which a token is listed, unless something failed. */
const LISTED_AFTER_MS = 60_000;

/** Deletes the dead tokens of a tree, and their entries in other objects. */
export class TreeSweep {
  readonly #tree: TreeParts;
  readonly #release: TreeRelease;
  readonly #dead: DeadTokens;
  /** Rows of the next piece. */
  #rows = FIRST_PIECE;
  readonly turns: SweepTurns;
  /** Settles with the run that was requested last. */
  #last: Promise<void> = Promise.resolve();

  constructor(tree: TreeParts, release: TreeRelease) {
    this.#tree = tree;
    this.#release = release;
    this.turns = tree.env.deployment.pace.turns();
    this.#dead = new DeadTokens(tree.sql, tree.treeId, tree.inventory);
  }

  /**
   * Runs the steps of one alarm, and serves requests between them. Several calls run one after the other. True when no
   * dead token is left.
   *
   * `takesTurns`: false for a tree with a single token. Its pieces are too small to need a turn. While requests end
   * many such trees, waiting for turns would take longer than the next tree takes to end, and trees that wait stay in
   * memory.
   */
  run({ takesTurns } = { takesTurns: true }): Promise<boolean> {
    return this.#inTurn(() => this.#run(takesTurns ? this.turns : null));
  }

  /**
   * Runs one step for a caller that removes the only token, in this row, from the list itself. Returns how the token
   * ended; null when its row still exists.
   */
  stepFor(row: number): Promise<EndRecord | null> {
    return this.#inTurn(async () => {
      const swept = (await this.#step(row, this.turns)) ?? [];
      countEvent("tokens_swept", [], swept.length);
      return swept.find((token) => token.row === row)?.end ?? null;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  async #run(turns: SweepTurns | null): Promise<boolean> {
    countEvent("sweep", [], 1);
    try {
      for (let step = 0; step < SWEEP_STEPS; step++) {
        this.turns.began(this.#tree.treeId);
        const swept = await this.#step(null, turns);
        if (swept === null) return true;
        countEvent("tokens_swept", [], swept.length);
      }
      return false;
    } finally {
      this.turns.ended(this.#tree.treeId);
      countEvent("sweep", [], -1);
    }
  }

  /** Runs one step, beside a run that may be in progress. Returns the number of deleted tokens. */
  async step(): Promise<number> {
    return (await this.#step(null, this.turns))?.length ?? 0;
  }

  /**
   * Runs one step. Safe to repeat after a crash anywhere in it. The caller removes the token in the row `delisted` from
   * the list. Pieces take no turns when `turns` is null. Returns the deleted tokens; null when no dead token was left.
   */
  async #step(delisted: number | null, turns: SweepTurns | null): Promise<SweepCandidate[] | null> {
    const kept: (() => void)[] = [];
    try {
      return await this.#sweepStep(delisted, turns, (rows) => kept.push(this.#tree.tokens.keepDead(rows)));
    } finally {
      for (const release of kept) release();
    }
  }

  /** @param keepDead called in the step that finds the tokens, see `Liveness.keepDead`. */
  async #sweepStep(
    delisted: number | null,
    turns: SweepTurns | null,
    keepDead: (rows: readonly number[]) => void,
  ): Promise<SweepCandidate[] | null> {
    const { env, sql, tokens, cubbyhole, inventory, leases } = this.#tree;
    const victims = await this.#find(turns, keepDead);
    // The tree may have been freed meanwhile.
    if (victims === null || !tokens.isCreated) return null;
    if (victims.length === 0) return [];
    // A token with more leases than one step ends is deleted by a later step.
    if (!leases.endOfTokens(victims.map(({ row }) => row))) {
      this.#dead.putBack();
      return [];
    }
    // Entries in other objects are removed first: after a crash in between, the rows still exist, and the step is
    // repeated.
    await this.#forgetElsewhere(victims, delisted, turns);
    for (let at = 0; at < victims.length; ) {
      const piece = victims.slice(at, at + this.#rows);
      at += piece.length;
      await this.#piece(turns, () => {
        const rows = piece.map(({ row }) => row);
        cubbyhole.deleteOf(rows);
        inventory.died(deleteVictims(sql, piece));
        tokens.deleted(rows, currentTime(), env.deployment.reusesTrees);
      });
    }
    return victims;
  }

  /** Finds the tokens that a step deletes; null when no dead token is left. */
  async #find(turns: SweepTurns | null, keepDead: (rows: readonly number[]) => void): Promise<SweepCandidate[] | null> {
    while (this.#dead.isPlanning) await this.#piece(turns, () => this.#dead.planOn(PLAN_ROWS));
    const victims = await this.#piece(turns, () => {
      const found = this.#dead.next(currentTime(), this.#rows);
      // Those that follow from a plan are marked, or below a marked one.
      if (found && found.length > 0) keepDead(found.map(({ row }) => row));
      return found;
    });
    if (victims === null) this.#dead.forget();
    while (victims && victims.length > 0 && victims.length < STEP_ROWS) {
      const more = await this.#piece(turns, () => this.#dead.more(currentTime(), this.#rows));
      if (more.length === 0) break;
      victims.push(...more);
    }
    return victims;
  }

  /** Runs a piece that holds the thread. Its time, without calls to other objects, sets the rows of the next one. */
  async #piece<T>(turns: SweepTurns | null, work: () => T): Promise<T> {
    const measured = () => {
      const began = currentTime();
      const result = work();
      this.#rows = rowsOfNextPiece(this.#rows, currentTime() - began);
      return result;
    };
    return turns ? turns.piece(measured) : measured();
  }

  async #forgetElsewhere(victims: readonly SweepCandidate[], delisted: number | null, turns: SweepTurns | null) {
    const { env, treeId } = this.#tree;
    this.#release.noteSize();
    await UPDATES.cancelUpdates(victims.filter(({ row }) => row === delisted).map(({ accessor }) => accessor));
    const listed = victims.filter(({ row }) => row !== delisted);
    if (listed.length > 0) {
      const isLast = this.#release.releasesWith(victims.map(({ row }) => row));
      const endings = listed.map((victim) => this.#endingOf(victim));
      await removeFromLists(env, endings, turns, isLast);
    }
    const customIds = victims.flatMap(({ row, customIdKey: key }) => (key === null ? [] : [{ key, treeId, row }]));
    await inGroups([...Map.groupBy(customIds, ({ key }) => customIdsShardNumber(key))], async ([shard, of]) => {
      const release = async () => customIdsShard(env, shard).release(of, currentTime());
      return turns ? turns.piece(release) : release();
    });
  }

  /** A token that was just created may not be listed yet, so its record is sent as well. */
  #endingOf({ row, accessor, end }: SweepCandidate): Ending {
    const { tokens, inventory } = this.#tree;
    // The mark also passes tokens that ended before they were published. So the age of the token counts as well.
    const mayBeUnlisted = !tokens.listing.covers(row) || rowGeneratedAt(row) > end.at - LISTED_AFTER_MS;
    const token = mayBeUnlisted && end.how !== "never issued" ? tokens.find(row) : null;
    return token ? inventory.ending(token, end) : { accessor, end };
  }
}

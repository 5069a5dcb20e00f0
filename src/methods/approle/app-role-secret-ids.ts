import { currentTime, earliest, type Ms } from "../../base/clock.ts";
import { logInfo } from "../../base/log.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, type Result, refuse, unavailable } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import { type ParentName, waitsAgain } from "./ending-parents.ts";
import type { SecretId } from "./secret-id.ts";
import { APP_ROLE_SECRET_ID_MIGRATIONS, type FoundSecretIds, SecretIdTable } from "./secret-id-table.ts";
import { type excludingList, type SecretIdClient, useOf } from "./secret-id-use.ts";
import { OF_ROLE, type TokenOfUse, TokenParents, type WantedParent } from "./token-parents.ts";

/** What a login with a secret-id found. `excludedBy` is the list of networks that refuses the client. */
interface UsedSecretId {
  /** null: it does not exist or has ended. */
  readonly secretId: SecretId | null;
  readonly excludedBy: ReturnType<typeof excludingList>;
  /** Accessor of the parent of the secret-id's tokens (`TokenParents`); null while there is none. */
  readonly parent: string | null;
  /** Set when no attempt of this call has used the secret-id. An object of 1.0.0-rc.1 does not know that. */
  readonly isUnused?: true;
}

const NO_SECRET_ID: UsedSecretId = { secretId: null, excludedBy: null, parent: null };
const TIDY = "tidy";
/** The duty that ends tokens of destroyed secret-ids. */
const END_TOKENS = "tokens of destroyed secret-ids";
const NOT_ENDED = unavailable("the secret-ids are destroyed, and their tokens are not ended yet; try again");
const RETRY_MS = 30_000;
/** Ended rows are removed on the hour: one run removes all that ended within it. */
const PERIOD_MS = 3_600_000;
/** A secret-id is registered within this time after its role was read, see `DROPPED_KEPT_MS`. */
const MAX_REGISTRATION_MS = 60_000;
const LATE = unavailable("the secret-id was not stored in time; try again");
/**
 * A shard of the secret-ids of a mount. A login counts its use here, in one transaction, before its token is issued: so
 * a secret-id gives no more tokens than it has uses, whatever fails. Each use checks by the sealed row whether the
 * secret-id has ended; tidy only frees storage. Rows with an invalid seal count as absent.
 */
export class AppRoleSecretIds extends GroveObject<Env> {
  readonly #secretIds: SecretIdTable;
  /** Parents of the tokens that end with their secret-id. */
  readonly #parents: TokenParents;
  protected override readonly restoredRow = waitsAgain;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, APP_ROLE_SECRET_ID_MIGRATIONS);
    this.#secretIds = new SecretIdTable(this.tables, this.seals);
    this.#parents = new TokenParents(env, ctx.storage.sql, this.seals, (role) => this.#secretIds.isDropped(role));
    this.alarms.add(END_TOKENS, {
      dueAt: () => (this.#parents.ending.has() ? 0 : null),
      run: () => this.#parents.ending.revoke(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.add(TIDY, { dueAt: () => this.#dueAt(), run: () => this.#tidy(), pauseMs: () => RETRY_MS });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Stores a new secret-id; a 400 when the role has one with this text, "not_found" when the role was deleted.
   *
   * @param now a time before the role was read.
   */
  async register(
    role: string,
    hash: string,
    secretId: SecretId,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    this.env.deployment.moves?.accept();
    await this.keys.open();
    // What another attempt has stored can be destroyed or used up by now.
    if (this.carriedOut.has(attempt, "write")) return ok(null);
    if (this.#secretIds.isDropped(role)) return NOT_FOUND;
    if (currentTime() - now > MAX_REGISTRATION_MS) return err(LATE);
    if (this.#secretIds.isTaken(role, hash, now)) return refuse("SecretID is already registered");
    this.#secretIds.add(role, hash, secretId);
    this.carriedOut.add(attempt, "write");
    const { expiresAt } = secretId;
    if (expiresAt !== null) await this.alarms.atLatest(onTheHour(expiresAt));
    return ok(null);
  }

  /**
   * Uses a secret-id for a login, and counts that once for all attempts of a call, unless the client's network refuses it.
   *
   * @param token the token of this login.
   */
  async use(
    role: string,
    hash: string,
    client: SecretIdClient,
    now: Ms,
    token: TokenOfUse = { endsWithSecretId: false, lasts: 0 },
    attempt: CallAttempt = {},
  ): Promise<UsedSecretId> {
    this.env.deployment.moves?.accept();
    await this.keys.open();
    if (this.carriedOut.has(attempt, "use")) {
      const secretId = this.#secretIds.findUsed(role, hash, attempt.callId, now);
      return secretId ? { secretId, excludedBy: null, parent: null } : NO_SECRET_ID;
    }
    const secretId = this.#secretIds.find(role, hash, now);
    if (!secretId) return { ...NO_SECRET_ID, isUnused: true };
    const { excludedBy, after } = useOf(secretId, client, now);
    if (excludedBy !== null) return { secretId, excludedBy, parent: null };
    if (after !== secretId) {
      this.#secretIds.change(role, hash, secretId, after);
      this.carriedOut.add(attempt, "use");
    }
    const keptUntil = after === null ? this.#secretIds.keepSpent(role, hash, secretId, attempt.callId) : null;
    const parent = this.#parents.noteUse(role, hash, secretId, { ...token, isLast: after === null }, now);
    const due = earliest(keptUntil, token.endsWithSecretId || after === null ? this.#parents.nextEnd() : null);
    if (due !== null) await this.alarms.atLatest(onTheHour(due));
    return { secretId, excludedBy, parent };
  }

  /**
   * Returns the accessor of the parent of a secret-id's tokens, which is made if none is alive. null when the secret-id
   * was destroyed or has expired.
   */
  async parentOf(role: string, accessor: string, wanted: WantedParent): Promise<Result<string | null>> {
    await this.keys.open();
    return this.#parents.of(role, accessor, wanted);
  }

  /** Returns a secret-id that has not ended, or null. */
  async find(role: string, hash: string, now: Ms): Promise<SecretId | null> {
    await this.keys.open();
    return this.#secretIds.find(role, hash, now);
  }

  /** Returns the first of these secret-ids that has not ended, with the id of its role, or null. */
  async findOfRoles(
    places: readonly { readonly role: string; readonly hash: string }[],
    now: Ms,
  ): Promise<{ readonly role: string; readonly secretId: SecretId } | null> {
    // An object without tables has no secret-id.
    if (!this.tables.exist) return null;
    await this.keys.open();
    for (const { role, hash } of places) {
      const secretId = this.#secretIds.find(role, hash, now);
      if (secretId) return { role, secretId };
    }
    return null;
  }

  /** Returns the secret-id with this accessor, or null. null also when it has ended. */
  async findByAccessor(role: string, accessor: string, now: Ms): Promise<SecretId | null> {
    await this.keys.open();
    return this.#secretIds.findByAccessor(role, accessor, now);
  }

  /** Destroys a secret-id, also one with an invalid seal, and ends the tokens that end with it. Safe to repeat. */
  async destroy(
    role: string,
    hash: string,
    asked: RevocationOrigin = NO_ORIGIN,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    // Another one with this text may have been made since.
    if (!this.carriedOut.has(attempt, "write")) this.#secretIds.delete(role, hash);
    if (this.tables.exist) this.carriedOut.add(attempt, "write");
    return this.#endTokens({ role, by: "hash", value: hash }, asked);
  }

  /** `destroy`, for the secret-id with this accessor; "not_found" when there is none. */
  async destroyByAccessor(
    role: string,
    accessor: string,
    asked: RevocationOrigin,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const isDestroyed = this.#secretIds.deleteByAccessor(role, accessor);
    const isFound = isDestroyed || this.carriedOut.has(attempt, "write");
    if (isDestroyed) this.carriedOut.add(attempt, "write");
    const name = { role, by: "accessor", value: accessor } as const;
    const isSpent = this.#parents.has(name);
    const ended = await this.#endTokens(name, asked);
    return ended.ok && !isFound && !isSpent ? NOT_FOUND : ended;
  }

  /** Returns at most `limit` accessors after `after`, in order, of secret-ids of a role that have not ended. */
  list(role: string, after: string, limit: number, now: Ms): string[] {
    return this.#secretIds.list(role, after, limit, now);
  }

  /** Searches the secret-ids of a role after `after` for some metadata. Reads a bounded number of rows. */
  async search(
    role: string,
    metadata: Readonly<Record<string, string>>,
    after: string,
    limit: number,
    now: Ms,
  ): Promise<FoundSecretIds> {
    await this.keys.open();
    return this.#secretIds.search(role, metadata, after, limit, now);
  }

  /**
   * Ends all secret-ids of a deleted role at once, also those that are being registered, and the tokens that end with
   * them. The alarm deletes their rows. Safe to repeat. @throws when the tokens could not be ended.
   */
  async dropRole(role: string, asked: RevocationOrigin = NO_ORIGIN): Promise<void> {
    await this.keys.open();
    this.#secretIds.dropRole(role);
    const ended = await this.#endTokens({ role, by: "accessor", value: OF_ROLE }, asked);
    await this.alarms.atLatest(currentTime());
    if (!ended.ok) throw new Error("tokens of a deleted role were not ended");
  }

  /** Removes secret-ids that have ended at `now`. The alarm removes what one call leaves. */
  removeEnded(now: Ms): void {
    this.#secretIds.removeEnded(now);
  }

  /** Deletes everything when the mount is removed. Safe to repeat. */
  erase(): Promise<void> {
    this.#secretIds.forget();
    this.#parents.forget();
    return this.wipe();
  }

  /**
   * Ends the tokens of a destroyed secret-id, or of a deleted role. What is to be ended is stored in the transaction of the
   * destruction, so that the alarm ends them if this call does not.
   */
  async #endTokens(name: ParentName, asked: RevocationOrigin): Promise<Result<null>> {
    this.#parents.noteEnd(name, asked);
    const { ending } = this.#parents;
    if (!ending.has(name)) return ok(null);
    await this.alarms.attempt(END_TOKENS, () => ending.revoke(name));
    return ending.has(name) ? err(NOT_ENDED) : ok(null);
  }

  #dueAt(): Ms | null {
    const end = earliest(this.#secretIds.nextEnd(), this.#parents.nextEnd());
    return end === null ? null : onTheHour(end);
  }

  async #tidy(): Promise<void> {
    const removed = this.#secretIds.removeEnded(currentTime());
    await this.#parents.removeEnded(currentTime());
    if (removed > 0) logInfo(this.env, { type: "tidy", list: "secret-ids", removed });
    this.#secretIds.tidyDropped((role) => this.#parents.removeRole(role), currentTime());
  }
}

/** The first full hour at or after a time. */
function onTheHour(time: Ms): Ms {
  return Math.ceil(time / PERIOD_MS) * PERIOD_MS;
}

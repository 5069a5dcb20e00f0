import { currentTime, earliest, type Ms } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { err, type Failure, invalidDocument, NOT_FOUND, ok, type Result, unavailable } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import { type CheckedRows, joinedChecks } from "../storage/row-seals.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { TeamEnv } from "./env.ts";
import { REPLAY_MS } from "./notices/notice-times.ts";
import { NoticeOutbox } from "./notices/outbox.ts";
import { NO_ANSWER, notifyOrganization, OrganizationRules, resendPause, type SyncResult } from "./organization-sync.ts";
import type {
  Author,
  EndedTeamToken,
  NewTeamTokenRecord,
  Rotation,
  TeamRecord,
  TeamSettings,
  TeamToken,
  TeamTokenEnd,
  TeamWithToken,
} from "./record.ts";
import { NAME_TAKEN } from "./rules/names.ts";
import { MAX_TEAM_TOKENS } from "./rules/team-tokens.ts";
import {
  ALREADY_ROTATED,
  expiryUnder,
  isAlive,
  type LifetimeRules,
  NO_RULES,
  planRotation,
} from "./rules/token-lifetime.ts";
import { TEAM_MIGRATIONS, TeamStore } from "./team-store.ts";

/** Pause after notices could not be sent. */
const NOTICE_RETRY_MS = 30_000;
/** Minimum interval between writes of the last use of a token. */
const USE_WRITE_MS = 60_000;

const OWNERS_STAY: Failure = { code: "forbidden", message: "the owners team can't be deleted or renamed" };
/** With the title and message of HCP Terraform, by which clients recognise it. */
const DESCRIPTION_TAKEN = invalidDocument(
  "Validation failed: Description has already been taken",
  "/data/attributes/description",
  "invalid attributes",
);
const HAS_ENDED = invalidDocument("the token has ended: make a new one", "/data");
const TOO_MANY_TOKENS = invalidDocument(
  `the team has ${MAX_TEAM_TOKENS} tokens: delete some, also of those that have ended`,
  "/data",
);

type Revision = number | null | "tampered";

/**
 * A team and its tokens: one token without a description, which each new one replaces, and any number with different
 * descriptions. Or the holder of an organization's own tokens, one of each kind. The organization has a copy of
 * everything but the hashes, for lists and searches. A change is written here first, in one transaction with the entry
 * in the outbox; then the organization is notified, and the alarm repeats that until it answers.
 *
 * An object without a team writes nothing in any call but `create`.
 */
export class Team extends GroveObject<TeamEnv> {
  readonly #store = new TeamStore(this.tables, this.seals);
  readonly #notices = new NoticeOutbox(this.env, this.tables, this.seals, this.#store);
  readonly #rules = new OrganizationRules(this.env);
  readonly #notifyOrganization = () => notifyOrganization(this.env, this.#store, () => this.#end());
  /** Last uses of tokens by id, which may not be written yet. */
  readonly #lastUses = new Map<string, Ms>();

  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, TEAM_MIGRATIONS);
    this.alarms.add("team_notices", {
      dueAt: () => earliest(this.#store.nextDue(), this.#notices.nextAt()),
      run: () => this.#sendNotices(),
      pauseMs: () => NOTICE_RETRY_MS,
    });
    this.alarms.add("team_index", {
      dueAt: () => (this.#store.hasUnsent ? 0 : null),
      run: this.#notifyOrganization,
      pauseMs: resendPause,
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Creates the team. It ends at once if its name is taken, or if its organization does not answer. Refused when an
   * earlier attempt of the call may have made it, and it has ended: the caller makes another one.
   */
  async create(team: TeamRecord, attempt: CallAttempt = {}): Promise<Result<TeamRecord>> {
    await this.keys.open();
    // A repeat of a call whose answer was lost.
    const made = this.#store.team();
    if ((team.owners && made?.owners) || (team.holder && made?.holder)) return ok(team);
    const begun = this.carriedOut.once(attempt, () => {
      if (this.tables.exist || attempt.again) return err(unavailable("the id is taken; try again"));
      this.#store.create(team);
      return ok(null);
    });
    if (!begun.ok) return begun;
    const synced = await this.#syncOrganization();
    if (synced === "sent") return ok(team);
    if (synced === "no_organization") return NOT_FOUND;
    if (synced === "ended") return err(NAME_TAKEN);
    // Another attempt may have notified it, and been answered.
    if (this.#store.isRegistered) return ok(team);
    // The organization may have registered the team although its answer was lost, so it is notified of the end.
    if (this.tables.exist) this.#store.end();
    return err(NO_ANSWER);
  }

  /** The team, or null. */
  async show(): Promise<TeamRecord | null> {
    await this.keys.open();
    return this.#store.team();
  }

  /**
   * Changes settings, and single flags of `organizationAccess`. The organization decides whether a new name is free.
   */
  async update(settings: Partial<TeamSettings>, attempt: CallAttempt = {}): Promise<Result<TeamRecord>> {
    await this.keys.open();
    const updated = this.carriedOut.once(attempt, () => {
      const before = this.#store.team();
      if (!before) return NOT_FOUND;
      if (before.owners && settings.name !== undefined && settings.name !== before.name) return err(OWNERS_STAY);
      const organizationAccess = { ...before.organizationAccess, ...settings.organizationAccess };
      this.#store.update({ ...settings, organizationAccess });
      return ok(null);
    });
    if (!updated.ok) return updated;
    const synced = await this.#syncOrganization();
    const team = this.#store.team();
    if (!team) return NOT_FOUND;
    if (synced === "failed" && settings.name !== undefined) return err(NO_ANSWER);
    return settings.name === undefined || settings.name === team.name ? ok(team) : err(NAME_TAKEN);
  }

  /**
   * Deletes the team. Its tokens end with the first write, before the organization is notified. A repeated call may find
   * no team, whose id no other team gets.
   */
  async remove({ again = false }: CallAttempt = {}): Promise<Result<null>> {
    await this.keys.open();
    const team = this.#store.team();
    if (!team && !again) return NOT_FOUND;
    if (team?.owners) return err(OWNERS_STAY);
    if (team) this.#store.end();
    // An earlier attempt may not have got so far as that.
    if (this.tables.exist) await this.#syncOrganization();
    return ok(null);
  }

  /** Deletes the team of a deleted organization, which needs no notification. Safe to repeat. */
  async end(organizationId: string): Promise<void> {
    await this.keys.open();
    const state = this.tables.exist ? this.#store.latest() : null;
    if (state?.team.organizationId === organizationId) await this.#end();
  }

  /**
   * Adds a token. A token without a description replaces the previous one of its kind. A description of another token
   * is refused, and so is an end that the organization does not allow.
   */
  async addToken(given: NewTeamTokenRecord, attempt: CallAttempt = {}): Promise<Result<TeamWithToken>> {
    await this.keys.open();
    const rules = await this.#rules.current(this.#store.team(), given.kind);
    if (!rules.ok) return rules;
    const expiry = expiryUnder(rules.value, given, given.createdAt);
    if (!expiry.ok) return badExpiry(expiry.error);
    const { verifier, ...token } = { ...given, ...expiry.value };
    const added = this.carriedOut.once(attempt, () => {
      const team = this.#store.team();
      if (!team || (team.holder === undefined) !== (token.kind === undefined)) return NOT_FOUND;
      const same = this.#store.inSlotOf(token);
      if (same && token.description !== null) return err(DESCRIPTION_TAKEN);
      if (!same && this.#store.countTokens() >= MAX_TEAM_TOKENS) return err(TOO_MANY_TOKENS);
      if (same) this.#removeTokens([same.token.tokenId], { how: "replaced", at: currentTime(), by: token.createdBy });
      this.#store.addToken({ ...token, verifier });
      return ok({ team, token });
    });
    if (!added.ok) return added;
    await this.#syncOrganization();
    // If the organization has ended, the team has ended too.
    return this.#store.team() ? added : NOT_FOUND;
  }

  /**
   * Replaces a token by a new one, see `planRotation`. The old token ends with the overlap. For a day, a repeat answers
   * the result of the first request, with its `replay`.
   */
  async rotateToken(
    tokenId: string,
    rotation: Rotation,
    attempt: CallAttempt = {},
  ): Promise<Result<TeamWithToken & Pick<Rotation, "replay">>> {
    await this.keys.open();
    const kind = this.#store.token(tokenId)?.token.kind;
    const rules = await this.#rules.current(this.#store.team(), kind);
    if (!rules.ok) return rules;
    const team = this.#store.team();
    const stored = team && this.#store.token(tokenId);
    if (!stored) return NOT_FOUND;
    const { token: old } = stored;
    const now = currentTime();
    if (!stored.current && !this.carriedOut.has(attempt, "write")) {
      const replay = now < (old.rotatedAt ?? 0) + REPLAY_MS ? stored.replay : null;
      const successor = old.rotatedTo === undefined ? null : this.#token(old.rotatedTo);
      return replay && successor ? ok({ ...successor, replay }) : err(ALREADY_ROTATED);
    }
    const rotated = this.carriedOut.once(attempt, () => {
      if (!isAlive(rules.value, old, now)) return err(HAS_ENDED);
      if (this.#store.countTokens() >= MAX_TEAM_TOKENS) return err(TOO_MANY_TOKENS);
      const { verifier, ...given } = rotation.token;
      const planned = planRotation(rules.value, old, given, rotation.overlapMs, now);
      if (!planned.ok) return badExpiry(planned.error);
      const { token, retired } = planned.value;
      this.#store.retireToken(retired, rotation.replay, now);
      this.#store.addToken({ ...token, verifier });
      return ok({ team, token, replay: null });
    });
    if (!rotated.ok) return rotated;
    await this.#syncOrganization();
    return this.#store.team() ? rotated : NOT_FOUND;
  }

  /** The team with a token, see `TeamStore.token`; null when there is none. */
  async token(which: string): Promise<TeamWithToken | null> {
    await this.keys.open();
    return this.#token(which);
  }

  /** Deletes a token, see `TeamStore.token`. Returns its id; null for none. @param by null: not known */
  async removeToken(which: string, by: Author | null = null, attempt: CallAttempt = {}): Promise<string | null> {
    await this.keys.open();
    const removed = this.carriedOut.once(attempt, () => {
      const found = this.#token(which);
      if (!found) return NOT_FOUND;
      this.#removeTokens([found.token.tokenId], { how: "deleted", at: currentTime(), by });
      return ok(found.token.tokenId);
    });
    if (!removed.ok) return null;
    await this.#syncOrganization();
    return removed.value;
  }

  /** The ids that no token of this team has: all of them if the team is not in the organization, or is a holder. */
  async unknownTokens(organization: string, tokenIds: readonly string[]): Promise<string[]> {
    await this.keys.open();
    const team = this.#store.team();
    const known = team?.organization === organization && !team.holder;
    return tokenIds.filter((tokenId) => !known || !this.#store.token(tokenId));
  }

  /** Deletes the tokens with these ids. Unknown ids are ignored. @param by null: not known */
  async removeTokens(organization: string, tokenIds: readonly string[], by: Author | null = null): Promise<void> {
    await this.keys.open();
    if (this.#store.team()?.organization !== organization) return;
    const known = tokenIds.filter((tokenId) => this.#store.token(tokenId));
    if (known.length > 0) this.#removeTokens(known, { how: "deleted", at: currentTime(), by });
    await this.#syncOrganization();
  }

  /** The team and the token with this verifier; null when the token is not valid. "use" updates its last use. */
  async authenticate(verifier: Uint8Array, purpose: "use" | "look-up"): Promise<TeamWithToken | null> {
    await this.keys.open();
    const known = this.#store.team();
    const sent = this.#validToken(verifier, NO_RULES);
    const rules = known && sent && (await this.#rules.copied(known, sent.kind));
    // Checked again, because other calls may have changed the team or the token meanwhile.
    const token = rules && this.#validToken(verifier, rules);
    const team = this.#store.team();
    if (!token || !team) return null;
    if (purpose === "use") this.#noteUse(token);
    return { team, token: this.#withLastUse(token) };
  }

  /** The token with this verifier that is not valid any more, and how it ended; null when that is not recorded. */
  async endedToken(verifier: Uint8Array): Promise<EndedTeamToken | null> {
    await this.keys.open();
    const team = this.#store.team();
    if (!team) return null;
    const stored = this.#store.tokenOf(verifier);
    if (!stored) {
      const ended = this.#store.ended(verifier);
      return ended && { team, ...ended };
    }
    // An expired token stays stored.
    const end = this.#store.endOf(stored.token, currentTime());
    return end && { team, token: stored.token, end };
  }

  /**
   * Compares the team with the copy of its organization, and checks the seals of all its rows. For tidy. `aged` terms
   * are dropped if nothing needs them. `revision` is the current one; null if the organization has no such team.
   */
  async compare(organizationId: string, aged: readonly AgedTerm[] = []): Promise<CheckedRows & { revision: Revision }> {
    await this.keys.open();
    let step = await this.checkSeals(null);
    const checks: CheckedRows[] = [{ sealed: 0, tampered: 0, terms: this.#store.termsOfTokens(aged) }, step];
    while (step.next) {
      step = await this.checkSeals(step.next);
      checks.push(step);
    }
    return { revision: this.#revision(organizationId), ...joinedChecks(checks) };
  }

  /** Sends the whole team to its organization, whose copy differs. @param knownRevision revision of that copy. */
  async resync(organizationId: string, knownRevision: number): Promise<void> {
    await this.keys.open();
    if (typeof this.#revision(organizationId) !== "number") return;
    this.#store.forgotten(knownRevision);
    await this.#syncOrganization();
  }

  /** `resync` by its name in 1.0.0-rc.1. Organizations call this name as long as a team can run that release. */
  tellAll(organizationId: string, knownRevision: number): Promise<void> {
    return this.resync(organizationId, knownRevision);
  }

  #token(which: string): TeamWithToken | null {
    const team = this.#store.team();
    const token = team && this.#store.token(which)?.token;
    return token ? { team, token: this.#withLastUse(token) } : null;
  }

  #withLastUse(token: TeamToken): TeamToken {
    return { ...token, lastUsedAt: this.#lastUses.get(token.tokenId) ?? token.lastUsedAt };
  }

  #revision(organizationId: string): Revision {
    if (!this.tables.exist) return null;
    const state = this.#store.latest();
    if (!state) return "tampered";
    return !state.ended && state.team.organizationId === organizationId ? state.revision : null;
  }

  /** Notifies the organization of all changes. The alarm repeats a failed notification. */
  async #syncOrganization(): Promise<SyncResult | "failed"> {
    const synced = await this.alarms.attempt("team_index", this.#notifyOrganization);
    return synced.ok ? synced.value : synced.error;
  }

  async #sendNotices(): Promise<void> {
    const team = this.#store.team();
    if (team) await this.#notices.run(team);
  }

  #validToken(verifier: Uint8Array, rules: LifetimeRules): TeamToken | null {
    const stored = this.#store.team() && this.#store.tokenOf(verifier);
    // The query has compared the verifier already. Everything depends on it, so it is compared in constant time too.
    if (!stored || !equalBytes(stored.verifier, verifier)) return null;
    return isAlive(rules, stored.token, currentTime()) ? stored.token : null;
  }

  #noteUse(token: TeamToken): void {
    const now = currentTime();
    this.#lastUses.set(token.tokenId, now);
    if (token.lastUsedAt !== null && now - token.lastUsedAt < USE_WRITE_MS) return;
    this.#store.updateToken({ ...token, lastUsedAt: now });
    this.ctx.waitUntil(this.#syncOrganization());
  }

  #removeTokens(tokenIds: readonly string[], end: TeamTokenEnd): void {
    this.#store.removeTokens(tokenIds, end);
    for (const tokenId of tokenIds) this.#lastUses.delete(tokenId);
  }

  async #end(): Promise<void> {
    this.#lastUses.clear();
    await this.wipe();
  }
}

function badExpiry(problem: string): Result<never> {
  return err(invalidDocument(`expired-at ${problem}`, "/data/attributes/expired-at"));
}

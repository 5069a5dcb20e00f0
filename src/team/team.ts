import { currentTime } from "../base/clock.ts";
import { MAX_TEAM_TOKENS } from "../base/limits.ts";
import { err, NOT_FOUND, ok, type Result, unavailable } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import { type CheckedRows, joinedChecks, type SealPosition } from "../storage/row-seals.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { TeamEnv } from "./env.ts";
import {
  ALREADY_ROTATED,
  badExpiry,
  DESCRIPTION_TAKEN,
  HAS_ENDED,
  NAME_TAKEN,
  NO_ORGANIZATION,
  OWNERS_STAY,
  TOO_MANY_TOKENS,
} from "./failures.ts";
import { NoticeOutbox } from "./notices/outbox.ts";
import { REPLAY_MS } from "./notices/rules.ts";
import { NO_ANSWER, notifyOrganization, OrganizationView, resendPause, type SyncResult } from "./organization-sync.ts";
import type {
  ComparedTeam,
  NewTeamTokenRecord,
  Rotated,
  Rotation,
  TeamRecord,
  TeamSettings,
  TeamToken,
  TeamWithToken,
} from "./record.ts";
import { expiryUnder, isAlive, type LifetimeRules, NO_RULES, planRotation } from "./rules/lifetime.ts";
import { TEAM_MIGRATIONS, TeamStore } from "./team-store.ts";

const NEVER = Number.POSITIVE_INFINITY;
/** Pause before notices that could not be sent are tried again (ms). */
const NOTICE_RETRY_MS = 30_000;
/** The id of no token. */
const NO_TOKEN = "none";

/**
 * A team and its tokens: at most one without a description, which each new one replaces, and any number with different
 * descriptions. The organization keeps a copy of everything but the hashes, for lists and searches. A change is
 * committed here first, in one transaction with the note that the organization has to be notified. Then it is notified; the
 * alarm repeats that until it has answered.
 *
 * An object that was never given a team writes nothing, whatever it is asked.
 */
export class Team extends GroveObject<TeamEnv> {
  readonly #store = new TeamStore(this.tables, this.seals);
  readonly #notices = new NoticeOutbox(this.env, this.tables, this.seals, this.#store);
  readonly #lastUses = new LastUses();
  readonly #organization = new OrganizationView(this.env);
  readonly #notifyOrganization = () => notifyOrganization(this.env, this.#store, () => this.#end());

  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, TEAM_MIGRATIONS);
    this.alarms.add("team_notices", {
      dueAt: () => this.#nextNotice(),
      run: () => this.#notify(),
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
   * Makes the team. It exists once its organization has taken it in: one whose name is taken, and one whose organization
   * does not answer, ends at once.
   */
  async create(team: TeamRecord): Promise<Result<TeamRecord>> {
    await this.keys.open();
    // A repeat of a call that made it and could not say so.
    if (team.owners && this.#store.team()?.owners) return ok(team);
    if (this.tables.exist) return err(unavailable("the id is taken; try again"));
    this.#store.create(team);
    const synced = await this.#syncOrganization();
    if (synced === "sent") return ok(team);
    if (synced === "no_organization") return err(NO_ORGANIZATION);
    if (synced === "ended") return err(NAME_TAKEN);
    // The organization may have taken the team in although its answer was lost: it is notified of the end, too.
    if (this.tables.exist) this.#store.end();
    return err(NO_ANSWER);
  }

  /** The team, or null. */
  async show(): Promise<TeamRecord | null> {
    await this.keys.open();
    return this.#store.team();
  }

  /**
   * Changes settings, of `organizationAccess` the flags that are given. A new name counts once the organization agrees; one
   * that is taken falls back to the old.
   */
  async update(settings: Partial<TeamSettings>): Promise<Result<TeamRecord>> {
    await this.keys.open();
    const before = this.#store.team();
    if (!before) return NOT_FOUND;
    if (before.owners && settings.name !== undefined && settings.name !== before.name) return err(OWNERS_STAY);
    const organizationAccess = { ...before.organizationAccess, ...settings.organizationAccess };
    this.#store.update({ ...settings, organizationAccess });
    const synced = await this.#syncOrganization();
    const team = this.#store.team();
    if (!team) return NOT_FOUND;
    if (synced === "failed" && settings.name !== undefined) return err(NO_ANSWER);
    return settings.name === undefined || settings.name === team.name ? ok(team) : err(NAME_TAKEN);
  }

  /** Deletes the team. Its tokens end with this write, before the organization is notified. */
  async remove(): Promise<Result<null>> {
    await this.keys.open();
    const team = this.#store.team();
    if (!team) return NOT_FOUND;
    if (team.owners) return err(OWNERS_STAY);
    this.#store.end();
    await this.#syncOrganization();
    return ok(null);
  }

  /** Deletes the team of an organization that is being deleted and so needs no word of it. Safe to repeat. */
  async end(organizationId: string): Promise<void> {
    await this.keys.open();
    const state = this.tables.exist ? this.#store.latest() : null;
    if (state?.team.organizationId === organizationId) await this.#end();
  }

  /**
   * Gives the team a new token. One without a description takes the place of the one without; one with a description that
   * another token has is refused, and so is an end that the organization does not allow.
   */
  async addToken(given: NewTeamTokenRecord): Promise<Result<TeamWithToken>> {
    await this.keys.open();
    const rules = await this.#organization.currentRules(this.#store.team());
    if (!rules.ok) return rules;
    const expiry = expiryUnder(rules.value, given, given.createdAt);
    if (!expiry.ok) return err(badExpiry(expiry.error));
    const token = { ...given, ...expiry.value };
    const team = this.#store.team();
    if (!team) return NOT_FOUND;
    const description = token.description;
    const replaced = description === null ? this.#store.token("") : null;
    if (description !== null && this.#store.described(description)) return err(DESCRIPTION_TAKEN);
    if (!replaced && this.#store.countTokens() >= MAX_TEAM_TOKENS) return err(TOO_MANY_TOKENS);
    if (replaced) this.#removeTokens([replaced.token.tokenId]);
    this.#store.addToken(token);
    await this.#syncOrganization();
    const { verifier, ...shown } = token;
    // The organization may have answered that it is gone, and the team with it.
    return this.#store.team() ? ok({ team, token: shown }) : NOT_FOUND;
  }

  /**
   * Lets a new token take over from the one with this id, which ends at the end of the overlap. Without an end the new one
   * lives as long as the other was to. A repeat finds what was done, for a day.
   */
  async rotateToken(tokenId: string, rotation: Rotation): Promise<Result<Rotated>> {
    await this.keys.open();
    const rules = await this.#organization.currentRules(this.#store.team());
    if (!rules.ok) return rules;
    const team = this.#store.team();
    const stored = team && this.#store.token(tokenId);
    if (!stored) return NOT_FOUND;
    const { token: old } = stored;
    const now = currentTime();
    if (!stored.current) {
      const replay = now < (old.rotatedAt ?? 0) + REPLAY_MS ? stored.replay : null;
      const successor = this.#token(old.rotatedTo ?? NO_TOKEN);
      return replay && successor ? ok({ ...successor, replay }) : err(ALREADY_ROTATED);
    }
    if (!isAlive(rules.value, old, now)) return err(HAS_ENDED);
    if (this.#store.countTokens() >= MAX_TEAM_TOKENS) return err(TOO_MANY_TOKENS);
    const { verifier, ...given } = rotation.token;
    const planned = planRotation(rules.value, old, given, rotation.overlapMs, now);
    if (!planned.ok) return err(badExpiry(planned.error));
    const { token, retired } = planned.value;
    this.#store.retireToken(retired, rotation.replay, now);
    this.#store.addToken({ ...token, verifier });
    await this.#syncOrganization();
    return this.#store.team() ? ok({ team, token, replay: null }) : NOT_FOUND;
  }

  /** The team and its token with this id, or with "" the one without a description; null when either is missing. */
  async token(tokenId: string): Promise<TeamWithToken | null> {
    await this.keys.open();
    return this.#token(tokenId);
  }

  /** Deletes the token with this id, or with "" the one without a description. Returns its id; null when there is none. */
  async removeToken(tokenId: string): Promise<string | null> {
    await this.keys.open();
    const found = this.#token(tokenId);
    if (!found) return null;
    this.#removeTokens([found.token.tokenId]);
    await this.#syncOrganization();
    return found.token.tokenId;
  }

  /** Which of these ids are not of tokens of this team, or all of them when it is not one of the organization. */
  async unknownTokens(organization: string, tokenIds: readonly string[]): Promise<string[]> {
    await this.keys.open();
    const known = this.#store.team()?.organization === organization;
    return tokenIds.filter((tokenId) => !known || !this.#store.token(tokenId));
  }

  /** Deletes the tokens with these ids; ids of no token are ignored. */
  async removeTokens(organization: string, tokenIds: readonly string[]): Promise<void> {
    await this.keys.open();
    if (this.#store.team()?.organization !== organization) return;
    const there = tokenIds.filter((tokenId) => this.#store.token(tokenId));
    if (there.length === 0) return;
    this.#removeTokens(there);
    await this.#syncOrganization();
  }

  /** The team whose token this is the verifier of, if the token is good now. */
  async authenticate(verifier: Uint8Array, purpose: "use" | "look-up"): Promise<TeamWithToken | null> {
    await this.keys.open();
    if (!this.#goodToken(verifier, NO_RULES) || !(await this.#organization.exists(this.#store.team()))) return null;
    // Other calls may have run during the wait: check again, with the new rules.
    const token = this.#goodToken(verifier, this.#organization.rules);
    const team = this.#store.team();
    if (!token || !team) return null;
    if (purpose === "use") this.#noteUse(token);
    return { team, token: this.#lastUses.shown(token) };
  }

  /**
   * What tidy compares with what the organization knows. Checks the seals of the team, its tokens and its notices.
   *
   * @param aged terms that may go when nothing needs them.
   */
  async compare(organizationId: string, aged: readonly AgedTerm[] = []): Promise<ComparedTeam> {
    await this.keys.open();
    const checks: CheckedRows[] = [{ sealed: 0, tampered: 0, terms: this.#store.termsOfTokens(aged) }];
    for (let from: SealPosition | null | undefined; from !== null; ) {
      const step = await this.checkSeals(from ?? null);
      checks.push(step);
      from = step.next;
    }
    return { revision: this.#revision(organizationId), ...joinedChecks(checks) };
  }

  /** Sends the whole team to its organization, whose copy differs. @param knownRevision the revision of that copy. */
  async tellAll(organizationId: string, knownRevision: number): Promise<void> {
    await this.keys.open();
    if (typeof this.#revision(organizationId) !== "number") return;
    this.#store.forgotten(knownRevision);
    await this.#syncOrganization();
  }

  #token(tokenId: string): TeamWithToken | null {
    const team = this.#store.team();
    const token = team && this.#store.token(tokenId)?.token;
    return token ? { team, token: this.#lastUses.shown(token) } : null;
  }

  #revision(organizationId: string): ComparedTeam["revision"] {
    if (!this.tables.exist) return null;
    const state = this.#store.latest();
    if (!state) return "tampered";
    return !state.ended && state.team.organizationId === organizationId ? state.revision : null;
  }

  /** Notifies the organization of all changes; when that fails, the alarm tries again. */
  async #syncOrganization(): Promise<SyncResult | "failed"> {
    const synced = await this.alarms.attempt("team_index", this.#notifyOrganization);
    return synced.ok ? synced.value : synced.error;
  }

  /** When there is something to do about a notice or a token (ms); null: never, also when the team has ended. */
  #nextNotice(): number | null {
    const next = Math.min(this.#store.nextDue() ?? NEVER, this.#notices.nextAt() ?? NEVER);
    return next === NEVER ? null : next;
  }

  async #notify(): Promise<void> {
    const team = this.#store.team();
    if (team) await this.#notices.run(team);
  }

  #goodToken(verifier: Uint8Array, rules: LifetimeRules): TeamToken | null {
    const stored = this.#store.team() && this.#store.tokenOf(verifier);
    // The row was found by the verifier. It is compared all the same, in constant time, since everything depends on it.
    if (!stored || !equalBytes(stored.verifier, verifier)) return null;
    return isAlive(rules, stored.token, currentTime()) ? stored.token : null;
  }

  #noteUse(token: TeamToken): void {
    const written = this.#lastUses.note(token, currentTime());
    if (!written) return;
    this.#store.updateToken(written);
    this.ctx.waitUntil(this.#syncOrganization());
  }

  #removeTokens(tokenIds: readonly string[]): void {
    this.#store.removeTokens(tokenIds);
    this.#lastUses.forget(tokenIds);
  }

  async #end(): Promise<void> {
    this.#lastUses.clear();
    await this.wipe();
  }
}

/** The last use is written at most this often; in between it is only remembered. */
const WRITE_EVERY_MS = 60_000;

/** The last uses of a team's tokens that may not be written yet. */
class LastUses {
  /** By token id, in ms. */
  readonly #times = new Map<string, number>();

  /** Remembers a use. @param now ms. @returns the token as it has to be written, or null while that can wait. */
  note(token: TeamToken, now: number): TeamToken | null {
    this.#times.set(token.tokenId, now);
    const isRecent = token.lastUsedAt !== null && now - token.lastUsedAt < WRITE_EVERY_MS;
    return isRecent ? null : { ...token, lastUsedAt: now };
  }

  /** The token with its last use, written or not. */
  shown(token: TeamToken): TeamToken {
    return { ...token, lastUsedAt: this.#times.get(token.tokenId) ?? token.lastUsedAt };
  }

  forget(tokenIds: readonly string[]): void {
    for (const tokenId of tokenIds) this.#times.delete(tokenId);
  }

  clear(): void {
    this.#times.clear();
  }
}

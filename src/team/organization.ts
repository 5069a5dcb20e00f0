import { nameKey } from "../base/case-folding.ts";
import { currentTime } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { inGroups } from "../base/parallel.ts";
import { LOST, unlessMethodIsMissing } from "../base/platform-errors.ts";
import { err, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { type PolicyUsage, usageOf } from "../policy/usage.ts";
import { type PageRequest, type RowPage, rowAfter } from "../storage/pages.ts";
import { joinedChecks } from "../storage/row-seals.ts";
import { storedJson } from "../storage/tables.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import { GroveObject } from "../system/grove-object.ts";
import { mustServe } from "../system/installation.ts";
import type { TeamEnv } from "./env.ts";
import { newHolderId, newTeamId, teamRoute } from "./ids.ts";
import { type Delivery, type SealedWebhook, WebhookStore } from "./notices/webhooks.ts";
import { ORGANIZATION_MIGRATIONS, OrganizationStore } from "./organization-store.ts";
import { type ComparedTeam, makeHolder, tokenHolders } from "./organization-token-holder.ts";
import type {
  Applied,
  ListedTeamToken,
  OrganizationChange,
  OrganizationRecord,
  TeamRecord,
  TeamState,
  TokenKind,
} from "./record.ts";
import { NAME_TAKEN } from "./rules/names.ts";
import { OWNERS, ownersOf } from "./rules/owners.ts";
import { type LifetimeRules, lifetimeRules } from "./rules/token-lifetime.ts";
import type { TokenOrder } from "./rules/token-order.ts";
import { organizationDirectory, teamAt } from "./stubs.ts";

const RETRY_MS = 500;
/** Maximum number of teams that a deletion ends before it answers. Few organizations have more. */
const SWEEP_AT_ONCE = 60;
/** Maximum number of teams that one alarm of a deletion ends. */
const SWEEP_PER_ALARM = 1000;

/** Interval between comparisons with teams, and the maximum number of teams in one comparison. */
const CHECK_EVERY_MS = 6 * 3_600_000;
const CHECK_TEAMS = 500;

/**
 * An organization, with copies of its teams and their tokens for lists and searches. Each team is the authority for
 * itself, and sends every change to its organization.
 *
 * An object without an organization writes nothing in any call but `create`.
 */
export class Organization extends GroveObject<TeamEnv> {
  readonly #store = new OrganizationStore(this.tables, this.seals);
  readonly #webhooks = new WebhookStore(this.tables, this.seals);
  /** null before the creation and after the deletion. */
  #record: OrganizationRecord | null = null;
  #isListing = false;

  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, ORGANIZATION_MIGRATIONS);
    const pauseMs = () => RETRY_MS;
    this.alarms.add("organization_deletion", {
      dueAt: () => (this.#store.row()?.ended ? 0 : null),
      run: () => this.#finish(SWEEP_PER_ALARM),
      pauseMs,
    });
    this.alarms.add("organization_setup", {
      dueAt: () => (this.#record && (!this.#store.row()?.listed || this.#lacksOwners()) ? 0 : null),
      run: () => this.#setUp(),
      pauseMs,
    });
    this.alarms.add("organization_check", {
      dueAt: () => (this.#record ? (this.#store.row()?.check_at ?? null) : null),
      run: () => this.#check(),
      pauseMs,
    });
    if (this.tables.exist) {
      ctx.blockConcurrencyWhile(async () => {
        await this.keys.open();
        // While it is null, no token of the teams is valid.
        this.#record = this.#store.record();
        await this.alarms.restore();
      });
    }
  }

  /**
   * Creates the organization. The name of a deleted organization stays taken until its deletion is complete. What an
   * earlier attempt of the call has made, and another request has deleted, does not come back.
   */
  async create(record: OrganizationRecord, attempt: CallAttempt = {}): Promise<Result<OrganizationRecord>> {
    await this.keys.open();
    const ended = attempt.again && !this.tables.exist ? await this.#hasEnded(record) : false;
    if (ended) return ok(record);
    const created = this.carriedOut.once(attempt, () => {
      if (this.tables.exist) return err(NAME_TAKEN);
      // The directory of 1.0.0-rc.1 can't tell whether the organization was made and deleted.
      if (ended === null) return err(LOST);
      this.#store.create(record, currentTime() + CHECK_EVERY_MS);
      this.#record = record;
      return ok(null);
    });
    if (!created.ok) return created;
    await this.alarms.attempt("organization_setup", () => this.#setUp());
    return ok(this.#record ?? record);
  }

  /** The organization with exactly this name, or null. */
  show(name: string): OrganizationRecord | null {
    return this.#record?.name === name ? this.#record : null;
  }

  /** Changes the contact and settings. Null when there is no such organization. */
  async update(
    name: string,
    { email, settings, maxTtls }: OrganizationChange,
    attempt: CallAttempt = {},
  ): Promise<OrganizationRecord | null> {
    await this.keys.open();
    const updated = this.carriedOut.once(attempt, () => {
      const before = this.show(name);
      if (!before) return NOT_FOUND;
      this.#write({
        ...before,
        email: email ?? before.email,
        settings: { ...before.settings, ...settings },
        maxTtls: { ...before.maxTtls, ...maxTtls },
      });
      this.#store.noteProgress("listed", 0);
      return ok(null);
    });
    if (!updated.ok) return null;
    await this.alarms.attempt("organization_setup", () => this.#setUp());
    return this.show(name);
  }

  /**
   * Deletes the organization, which does not exist from the first write on. The tokens of a team end when the team is
   * deleted, or at the latest after POLICY_CACHE_SECONDS. "done" when all teams are deleted, "going" when the alarm
   * deletes the rest, also of an earlier call; null without an organization. A repeated call may find none, or another
   * one with the name.
   *
   * @param organizationId its id; absent: a Worker of an earlier release deletes whatever has the name.
   */
  async remove(
    name: string,
    organizationId?: string,
    { again = false }: CallAttempt = {},
  ): Promise<"done" | "going" | null> {
    const record = this.show(name);
    if (!record || (organizationId !== undefined && !this.has(organizationId))) {
      return this.#store.isBeingDeleted(name) ? "going" : again ? "done" : null;
    }
    this.#store.noteProgress("ended", 1);
    this.#record = null;
    const finished = await this.alarms.attempt("organization_deletion", () => this.#finish(SWEEP_AT_ONCE));
    return finished.ok && finished.value ? "done" : "going";
  }

  /** True while the organization with this id exists. */
  has(organizationId: string): boolean {
    return this.#record?.organizationId === organizationId;
  }

  /** The rules for the lifetimes of tokens of a kind; null when the organization with this id does not exist. */
  lifetimes(organizationId: string, kind: TokenKind = "team"): LifetimeRules | null {
    return this.#record && this.has(organizationId) ? lifetimeRules(this.#record, kind) : null;
  }

  /** Returns the route to the holder of the organization's tokens, which is made before the first of them. */
  async tokenHolder(name: string): Promise<Result<string>> {
    if (!this.show(name)) return NOT_FOUND;
    await this.alarms.attempt("organization_setup", () => this.#setUp());
    const newId = await newHolderId((await mustServe(this.env)).keys);
    await this.keys.open();
    const record = this.show(name) && this.#withId("holderId", newId);
    return record ? makeHolder(this.env, record) : NOT_FOUND;
  }

  /** All webhooks; null without the organization. */
  async webhooks(name: string): Promise<SealedWebhook[] | null> {
    await this.keys.open();
    return this.show(name) && this.#webhooks.all();
  }

  /** Stores a new or changed webhook, see `WebhookStore.put`. "gone" also without the organization. */
  async putWebhook(
    name: string,
    webhook: SealedWebhook,
    attempt: CallAttempt = {},
  ): Promise<ReturnType<WebhookStore["put"]>> {
    await this.keys.open();
    if (!this.show(name)) return "gone";
    const put = this.carriedOut.once(attempt, () => ok(this.#webhooks.put(webhook)));
    return put.ok ? put.value : "changed";
  }

  /** Deletes a webhook. False for an unknown webhook. */
  removeWebhook(name: string, id: string): boolean {
    return this.show(name) !== null && this.#webhooks.remove(id);
  }

  /** A page of the deliveries to a webhook, the newest first; null for an unknown webhook. */
  async deliveries(name: string, webhookId: string, page: PageRequest): Promise<RowPage<Delivery> | null> {
    await this.keys.open();
    return this.show(name) && this.#webhooks.find(webhookId) && this.#webhooks.deliveries(webhookId, page);
  }

  /** The enabled webhooks of the organization with this id. */
  async enabledWebhooks(organizationId: string): Promise<SealedWebhook[]> {
    await this.keys.open();
    return this.has(organizationId) ? this.#webhooks.all().filter(({ enabled }) => enabled) : [];
  }

  /** Records the results of deliveries. */
  async noteDeliveries(organizationId: string, deliveries: readonly Delivery[]): Promise<void> {
    await this.keys.open();
    if (this.has(organizationId)) for (const delivery of deliveries) this.#webhooks.note(delivery);
  }

  /** Updates the copy of a team. An older state than the known one changes nothing. */
  apply(state: TeamState): Applied {
    if (!this.has(state.team.organizationId)) return { kind: "no_organization" };
    const { teamId, name, holder } = state.team;
    // The holder is in no list. A second one would not end with the organization.
    if (holder) return teamId === this.#record?.holderId ? { kind: "applied" } : { kind: "name_taken", name: null };
    const found = this.#store.find(teamId);
    if (state.ended) this.#store.remove(teamId);
    else if (found && found.revision >= state.revision) return { kind: "applied" };
    else if (!found && !state.unregistered) return { kind: "unknown_team" };
    else if (this.#isNameTaken(name, teamId)) return { kind: "name_taken", name: found?.name ?? null };
    else if (found) this.#store.update(found, state);
    else this.#store.insert(state);
    return { kind: "applied" };
  }

  /** A page of the teams whose name contains `part`, by name. */
  listTeams(name: string, page: PageRequest, part: string): Result<RowPage<TeamRecord>> {
    return this.show(name) ? ok(this.#store.listTeams(page, part)) : NOT_FOUND;
  }

  /** The teams with these names. */
  teamsNamed(name: string, names: readonly string[]): Result<TeamRecord[]> {
    return this.show(name) ? ok(this.#store.teamsNamed(names)) : NOT_FOUND;
  }

  /** The teams whose tokens have this policy, as `organization/team`. */
  teamsWithPolicy(policy: string): PolicyUsage {
    const { name } = this.#record ?? {};
    const teams = name === undefined ? [] : this.#store.teamsWithPolicy(policy);
    return usageOf(teams.map((team) => `${name}/${team}`));
  }

  /** A page of the tokens of teams whose name contains `part`. */
  listTokens(name: string, page: PageRequest, order: TokenOrder, part: string): Result<RowPage<ListedTeamToken>> {
    return this.show(name) ? ok(this.#store.listTokens(page, order, part)) : NOT_FOUND;
  }

  /**
   * Compares the copies of some teams after the row `after` with the teams, and repairs differences, which can come
   * from the restore of an object to an earlier time. The teams check their seals. Returns `next`, the row after which
   * the next page begins (null at the end), and the number of `failures`: teams that did not answer.
   */
  async reconcile(after: number, limit: number, aged: readonly AgedTerm[] = []) {
    const organizationId = this.#record?.organizationId;
    if (organizationId === undefined) return { next: null, sealed: 0, tampered: 0, terms: [], failures: 0 };
    const { teams, next } = this.#teamsAfter(after, limit);
    const compared = await inGroups(teams, (team) => this.#compare(team, organizationId, aged));
    const answered = compared.filter((checks) => checks !== null);
    const failures = compared.length - answered.length;
    return { ...joinedChecks(answered), next, failures };
  }

  /**
   * Routes of at most `limit` teams after the row `after`, and before them that of the holder. `next` is the row after
   * which the next page begins.
   */
  teamRoutes(after: number, limit: number): { readonly routes: string[]; readonly next: number | null } {
    const { teams, next } = this.#teamsAfter(after, limit);
    return { routes: teams.map(({ teamId }) => teamRoute(teamId)), next };
  }

  #teamsAfter(after: number, limit: number) {
    const teams = this.#store.teamsAfter(after, limit);
    const all: ComparedTeam[] = after === 0 ? [...tokenHolders(this.#record), ...teams] : teams;
    return { teams: all, next: rowAfter(teams, limit) };
  }

  #write(record: OrganizationRecord): void {
    this.#store.writeRecord(record);
    this.#record = record;
  }

  /** Compares a team with its copy, and repairs the copy. null when the team does not answer. */
  async #compare({ teamId, revision: known }: ComparedTeam, organizationId: string, aged: readonly AgedTerm[]) {
    try {
      const team = teamAt(this.env, teamRoute(teamId));
      const { revision, ...checked } = await team.compare(organizationId, aged);
      // A newer state of the team may have arrived during the call.
      if (!this.has(organizationId) || this.#store.find(teamId)?.revision !== known) return checked;
      // A team that was tampered with stays in the list, so that tidy finds it.
      if (revision === null) this.#store.remove(teamId);
      else if (revision !== "tampered" && revision !== known) await team.tellAll(organizationId, known);
      return checked;
    } catch (error) {
      // The next run tries it again; the other teams are compared now.
      console.error(JSON.stringify({ type: "team_check", error: String(error) }));
      return null;
    }
  }

  async #check(): Promise<void> {
    this.#store.noteProgress("check_at", currentTime() + CHECK_EVERY_MS);
    const { next } = await this.reconcile(this.#store.row()?.checked_row ?? 0, CHECK_TEAMS);
    if (this.tables.exist) this.#store.noteProgress("checked_row", next ?? 0);
  }

  /** Updates the directory and creates the owners team. A failure of one does not prevent the other. */
  async #setUp(): Promise<void> {
    const done = await Promise.allSettled([this.#list(), this.#makeOwners()]);
    for (const one of done) if (one.status === "rejected") throw one.reason;
  }

  /** Sends the record to the directory. One call at a time, so that an older record never arrives last. */
  async #list(): Promise<void> {
    if (this.#isListing) return;
    this.#isListing = true;
    try {
      for (let record = this.#record; record && !this.#store.row()?.listed; record = this.#record) {
        await this.#put(record);
        if (this.#record === record) this.#store.noteProgress("listed", 1);
      }
    } finally {
      this.#isListing = false;
    }
  }

  /** The call may be repeated after that of a deletion meanwhile, which is then repeated too. */
  async #put(record: OrganizationRecord): Promise<void> {
    const { name, organizationId } = record;
    const directory = organizationDirectory(this.env);
    try {
      await directory.put(record);
    } finally {
      if (!this.has(organizationId)) await directory.remove(name, organizationId);
    }
  }

  async #makeOwners(): Promise<void> {
    if (!this.#lacksOwners()) return;
    const newId = await newTeamId((await mustServe(this.env)).keys);
    await this.keys.open();
    const record = this.#withId("ownersTeamId", newId);
    if (record?.ownersTeamId === undefined) return;
    const team = teamAt(this.env, teamRoute(record.ownersTeamId));
    const made = await team.create(ownersOf(record, record.ownersTeamId, currentTime()));
    if (!made.ok) throw new Error("the owners team could not be created");
    // It exists, and its copy was lost here: the team sends changes alone.
    if (this.#lacksOwners()) await team.tellAll(record.organizationId, 0);
  }

  /** Stores an id before its team is created, so that there is only one, even after a crash. */
  #withId(name: "ownersTeamId" | "holderId", newId: string): OrganizationRecord | null {
    const before = this.#record;
    if (before && before[name] === undefined) this.#write({ ...before, [name]: newId });
    return this.#record;
  }

  /** Asks the directory, since a deletion also deletes the calls that this object has carried out. */
  #hasEnded({ organizationId }: OrganizationRecord): Promise<boolean | null> {
    return unlessMethodIsMissing(organizationDirectory(this.env).hasEnded(organizationId));
  }

  #lacksOwners(): boolean {
    return this.#record !== null && !this.#store.find(this.#record.ownersTeamId ?? "");
  }

  /** The name of the owners team is reserved for it, also before it exists. */
  #isNameTaken(name: string, teamId: string): boolean {
    if (nameKey(name) === OWNERS) return teamId !== this.#record?.ownersTeamId;
    return this.#store.isNameTaken(name, teamId);
  }

  /** Continues a deletion: ends at most `limit` teams. Returns true, and deletes the rows, when no team is left. */
  async #finish(limit: number): Promise<boolean> {
    const row = this.#store.row();
    if (!row) return true;
    const record = storedJson<OrganizationRecord>(row.record);
    const { name, organizationId } = record;
    await organizationDirectory(this.env).remove(name, organizationId);
    for (const { teamId } of tokenHolders(record)) await teamAt(this.env, teamRoute(teamId)).end(organizationId);
    const teams = this.#store.teamsAfter(0, limit);
    await inGroups(teams, async (team) => {
      await teamAt(this.env, teamRoute(team.teamId)).end(organizationId);
      if (this.tables.exist) this.#store.remove(team.teamId);
    });
    // An overlapping run may have finished meanwhile, and another organization may have the name by now.
    if (!this.#store.row()?.ended) return true;
    if (this.#store.teamsAfter(0, 1).length > 0) return false;
    await this.wipe();
    return true;
  }
}

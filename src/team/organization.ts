import { currentTime } from "../base/clock.ts";
import { nameKey } from "../base/name.ts";
import { inGroups } from "../base/parallel.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import { holdersOf, type PolicyHolders } from "../policy/holders.ts";
import { GroveObject } from "../system/grove-object.ts";
import { loadInstallation } from "../system/installation.ts";
import type { TeamEnv } from "./env.ts";
import { NAME_TAKEN, NO_ORGANIZATION } from "./failures.ts";
import { organizationDirectory, teamAt } from "./find.ts";
import { newTeamId, teamRoute } from "./ids.ts";
import type { TokenOrder } from "./listed-tokens.ts";
import type { Delivery, SealedWebhook } from "./notices/rules.ts";
import { WebhookStore } from "./notices/webhook-store.ts";
import { ORGANIZATION_MIGRATIONS, OrganizationRow, OrganizationStore } from "./organization-store.ts";
import { checkTeams, type Reconciled } from "./reconcile.ts";
import type {
  Applied,
  ListedToken,
  OrganizationChange,
  OrganizationRecord,
  Page,
  PageRequest,
  TeamRecord,
  TeamState,
} from "./record.ts";
import { type LifetimeRules, lifetimeRules } from "./rules/lifetime.ts";
import { OWNERS, ownersOf } from "./rules/organization-access.ts";

/** Pause before what failed is tried again. */
const RETRY_MS = 500;
/** Teams that a deletion ends before it answers. Few organizations have more. */
const SWEEP_AT_ONCE = 60;
/** Teams that one alarm of a deletion ends. */
const SWEEP_PER_ALARM = 1000;

/** How often the index is compared with some teams, and with how many. */
const CHECK_EVERY_MS = 6 * 3_600_000;
const CHECK_TEAMS = 500;

/**
 * An organization: the directory of its teams, and the index that lists, sorts and searches their tokens. Each team is
 * the authority on itself and passes on every change.
 *
 * An object that was never given an organization writes nothing, whatever it is asked.
 */
export class Organization extends GroveObject<TeamEnv> {
  readonly #store = new OrganizationStore(this.tables);
  readonly #row = new OrganizationRow(this.tables, this.seals);
  readonly #webhooks = new WebhookStore(this.tables, this.seals);
  /** null when there is none, or none any more. */
  #record: OrganizationRecord | null = null;
  /** True while the directory is being notified. */
  #isListing = false;

  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, ORGANIZATION_MIGRATIONS);
    const pauseMs = () => RETRY_MS;
    this.alarms.add("organization_deletion", {
      dueAt: () => (this.#row.progress()?.ended ? 0 : null),
      run: () => this.#finish(SWEEP_PER_ALARM),
      pauseMs,
    });
    this.alarms.add("organization_setup", {
      dueAt: () => (this.#record && (!this.#row.progress()?.listed || this.#lacksOwners()) ? 0 : null),
      run: () => this.#setUp(),
      pauseMs,
    });
    this.alarms.add("organization_check", {
      dueAt: () => (this.#record ? (this.#row.progress()?.check_at ?? null) : null),
      run: () => this.#check(),
      pauseMs,
    });
    if (this.tables.exist) {
      ctx.blockConcurrencyWhile(async () => {
        await this.keys.open();
        // Without a record no token of its teams is good.
        this.#record = this.#row.record();
        await this.alarms.restore();
      });
    }
  }

  /** Creates the organization. A name stays taken until the deletion of an earlier organization of that name has ended. */
  async create(record: OrganizationRecord): Promise<Result<OrganizationRecord>> {
    await this.keys.open();
    if (this.tables.exist) return err(NAME_TAKEN);
    this.#record = record;
    this.#row.insert(record, currentTime() + CHECK_EVERY_MS);
    await this.alarms.attempt("organization_setup", () => this.#setUp());
    return ok(this.#record ?? record);
  }

  /** The organization of exactly this name, or null. */
  show(name: string): OrganizationRecord | null {
    return this.#record?.name === name ? this.#record : null;
  }

  /** Changes the contact and settings. Null when there is no such organization. */
  async update(name: string, { email, settings, maxTtls }: OrganizationChange): Promise<OrganizationRecord | null> {
    await this.keys.open();
    const before = this.show(name);
    if (!before) return null;
    this.#record = {
      ...before,
      email: email ?? before.email,
      settings: { ...before.settings, ...settings },
      maxTtls: { ...before.maxTtls, ...maxTtls },
    };
    this.#row.write(this.#record);
    this.#row.note("listed", 0);
    await this.alarms.attempt("organization_setup", () => this.#setUp());
    return this.show(name);
  }

  /**
   * Deletes the organization. From the first write here the organization does not exist any more. The tokens of its
   * teams end as soon as each team is notified, at most POLICY_CACHE_SECONDS later.
   *
   * @returns "done" when every team is gone, "going" when the alarm ends the rest; null when there was none.
   */
  async remove(name: string): Promise<"done" | "going" | null> {
    if (!this.show(name)) return null;
    this.#record = null;
    this.#row.note("ended", 1);
    const finished = await this.alarms.attempt("organization_deletion", () => this.#finish(SWEEP_AT_ONCE));
    return finished.ok && finished.value ? "done" : "going";
  }

  /** True while the organization with this id exists. */
  has(organizationId: string): boolean {
    return this.#record?.organizationId === organizationId;
  }

  /** The rules of the organization with this id for the lifetimes of tokens; null when it does not exist. */
  lifetimes(organizationId: string): LifetimeRules | null {
    const record = this.#record;
    return record?.organizationId === organizationId ? lifetimeRules(record) : null;
  }

  /** The webhooks of the organization; null when there is no such organization. */
  async webhooks(name: string): Promise<SealedWebhook[] | null> {
    await this.keys.open();
    return this.show(name) && this.#webhooks.all();
  }

  /** Stores a webhook, new or changed, see `WebhookStore.put`. "gone" also when there is no such organization. */
  async putWebhook(name: string, webhook: SealedWebhook): Promise<ReturnType<WebhookStore["put"]>> {
    await this.keys.open();
    return this.show(name) ? this.#webhooks.put(webhook) : "gone";
  }

  /** Deletes a webhook. False when there is none. */
  removeWebhook(name: string, id: string): boolean {
    return this.show(name) !== null && this.#webhooks.remove(id);
  }

  /** A page of the deliveries to a webhook, the newest first; null when there is none. */
  async deliveries(name: string, webhookId: string, page: PageRequest): Promise<Page<Delivery> | null> {
    await this.keys.open();
    return this.show(name) && this.#webhooks.find(webhookId) && this.#webhooks.deliveries(webhookId, page);
  }

  /** The webhooks that the organization with this id has switched on. */
  async enabledWebhooks(organizationId: string): Promise<SealedWebhook[]> {
    await this.keys.open();
    return this.has(organizationId) ? this.#webhooks.all().filter(({ enabled }) => enabled) : [];
  }

  /** Notes how deliveries of a team stand. */
  async noteDeliveries(organizationId: string, deliveries: readonly Delivery[]): Promise<void> {
    await this.keys.open();
    if (this.has(organizationId)) for (const delivery of deliveries) this.#webhooks.note(delivery);
  }

  /** Applies the state of a team to the index. A state that is older than the known one changes nothing. */
  apply(state: TeamState): Applied {
    if (!this.has(state.team.organizationId)) return { kind: "no_organization" };
    const { teamId, name } = state.team;
    const found = this.#store.find(teamId);
    if (state.ended) this.#store.remove(teamId);
    else if (found && found.revision >= state.revision) return { kind: "applied" };
    else if (!found && !state.unregistered) return { kind: "unknown_team" };
    else if (this.#isNameTaken(name, teamId)) return { kind: "name_taken", name: found?.name ?? null };
    else if (found) this.#store.update(state);
    else this.#store.insert(state);
    return { kind: "applied" };
  }

  /** A page of the teams, by name. `part` is text that the name must hold, "" for none. */
  listTeams(name: string, page: PageRequest, part: string): Result<Page<TeamRecord>> {
    return this.show(name) ? ok(this.#store.listTeams(page, part)) : err(NO_ORGANIZATION);
  }

  /** The teams with these names that exist. */
  teamsNamed(name: string, names: readonly string[]): Result<TeamRecord[]> {
    return this.show(name) ? ok(this.#store.teamsNamed(names)) : err(NO_ORGANIZATION);
  }

  /** The teams whose tokens have this policy, by the names of the organization and of the team. */
  teamsWithPolicy(policy: string): PolicyHolders {
    const { name } = this.#record ?? {};
    const teams = name === undefined ? [] : this.#store.teamsWithPolicy(policy);
    return holdersOf(teams.map((team) => `${name}/${team}`));
  }

  /** A page of the tokens. `part` is text that the name of the team must hold, "" for none. */
  listTokens(name: string, page: PageRequest, order: TokenOrder, part: string): Result<Page<ListedToken>> {
    return this.show(name) ? ok(this.#store.tokens.list(page, order, part)) : err(NO_ORGANIZATION);
  }

  /**
   * Compares the index with some teams and repairs differences. There should be none: this covers what cannot be
   * foreseen, such as the restore of one of the objects to an earlier time. The teams check their seals meanwhile.
   *
   * @param after the row to begin after; 0 for the first.
   */
  async reconcile(after: number, limit: number, aged: readonly AgedTerm[] = []): Promise<Reconciled> {
    const organizationId = this.#record?.organizationId;
    if (organizationId === undefined) return { next: null, sealed: 0, tampered: 0, terms: [], failures: 0 };
    const deps = { env: this.env, store: this.#store, has: (id: string) => this.has(id) };
    return checkTeams(deps, organizationId, after, limit, aged);
  }

  /** Routes of at most `limit` teams after the row `after`, and the row to go on after; null at the end. */
  teamRoutes(after: number, limit: number): { readonly routes: string[]; readonly next: number | null } {
    const teams = this.#store.teamsAfter(after, limit);
    const routes = teams.map(({ teamId }) => teamRoute(teamId));
    return { routes, next: teams.length < limit ? null : (teams.at(-1)?.row ?? null) };
  }

  async #check(): Promise<void> {
    this.#row.note("check_at", currentTime() + CHECK_EVERY_MS);
    const { next } = await this.reconcile(this.#row.progress()?.checked_row ?? 0, CHECK_TEAMS);
    if (this.tables.exist) this.#row.note("checked_row", next ?? 0);
  }

  /** Does what belongs to every organization, the one whether the other fails or not. */
  async #setUp(): Promise<void> {
    const done = await Promise.allSettled([this.#list(), this.#makeOwners()]);
    for (const one of done) if (one.status === "rejected") throw one.reason;
  }

  /** Sends the record of the organization to the directory. One call at a time, so that nothing older arrives last. */
  async #list(): Promise<void> {
    if (this.#isListing) return;
    this.#isListing = true;
    try {
      for (let record = this.#record; record && !this.#row.progress()?.listed; record = this.#record) {
        await organizationDirectory(this.env).put(record);
        if (this.#record === record) this.#row.note("listed", 1);
      }
    } finally {
      this.#isListing = false;
    }
  }

  /** The id is stored first: after a crash at any point there is still only one team of the owners. */
  async #makeOwners(): Promise<void> {
    if (!this.#lacksOwners()) return;
    const installation = await loadInstallation(this.env);
    if (!installation.ok) throw new Error("ids can't be made while the service is sealed");
    const drawn = await newTeamId(installation.value.keys);
    await this.keys.open();
    const before = this.#record;
    if (!before) return;
    const ownersTeamId = before.ownersTeamId ?? drawn;
    this.#record = { ...before, ownersTeamId };
    this.#row.write(this.#record);
    const team = teamAt(this.env, teamRoute(ownersTeamId));
    const made = await team.create(ownersOf(this.#record, ownersTeamId, currentTime()));
    if (!made.ok) throw new Error("the owners could not be made");
  }

  /** True until the owners team is registered. */
  #lacksOwners(): boolean {
    return this.#record !== null && !this.#store.find(this.#record.ownersTeamId ?? "");
  }

  /** The name of the owners team is reserved for it, also before it exists. */
  #isNameTaken(name: string, teamId: string): boolean {
    if (nameKey(name) === OWNERS) return teamId !== this.#record?.ownersTeamId;
    return this.#store.isNameTaken(name, teamId);
  }

  /** Takes the organization off the list and ends up to `limit` teams. When none is left, frees the object. */
  async #finish(limit: number): Promise<boolean> {
    const { name, organizationId } = this.#row.identity();
    await organizationDirectory(this.env).remove(name, organizationId);
    if (!this.tables.exist) return true;
    const teams = this.#store.teamsAfter(0, limit);
    await inGroups(teams, async (team) => {
      await teamAt(this.env, teamRoute(team.teamId)).end(organizationId);
      if (this.tables.exist) this.#store.remove(team.teamId);
    });
    // Two runs can overlap, and the other one may have finished meanwhile.
    if (!this.tables.exist) return true;
    if (this.#store.teamsAfter(0, 1).length > 0) return false;
    await this.wipe();
    return true;
  }
}

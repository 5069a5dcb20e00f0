import { evictDurableObject, listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { Organization } from "../../../src/team/organization.ts";
import { reconcileTeams } from "../../../src/team/reconcile-teams.ts";
import type { TeamRecord, TeamState, TeamToken } from "../../../src/team/record.ts";
import { organizationDirectory, organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { Team } from "../../../src/team/team.ts";
import { checkObjects } from "../../../src/tidy/check-objects.ts";
import { atCalls, atNth } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { madeIn, rowsOf } from "../../support/rows.ts";
import { bindings, initialized } from "../../support/service.ts";
import { alter, changeRows, insertRows } from "../../support/storage-writer.ts";
import {
  api,
  createOrganization,
  createTeam,
  generateToken,
  idsOf,
  list,
  organizationWithTeam,
  resource,
  statusOf,
  teamsOf,
} from "../../support/teams.ts";

let root: string;
/** An organization of its own for each test, with one team. */
let name: string;
let teamId: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  // Alarms are set for the time of the tests, which is far from now: they run when a test says so.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2090, 0, 1) });
  ({ organization: name, teamId } = await organizationWithTeam(root));
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.useRealTimers();
});

const organization = () => organizationNamed(bindings, name);
const team = (id = teamId) => teamAt(bindings, teamRoute(id));
const listed = async () => idsOf(await list(root, name, "team-tokens"));
/** What a team would send to an organization that has only its name. */
async function stateOf(id = teamId): Promise<TeamState> {
  const [stored] = await rowsOf(team(id), "team");
  const tokens = (await rowsOf(team(id), "tokens")).map(({ token_id, record }) => ({
    tokenId: String(token_id),
    token: JSON.parse(String(record)) as TeamToken,
  }));
  const record = JSON.parse(String(stored?.record)) as TeamRecord;
  return { team: record, tokens, revision: Number(stored?.revision), ended: false, unregistered: false };
}

/** Makes the organization believe that the team has no tokens. */
async function loseTokens(): Promise<void> {
  const state = await stateOf();
  await organization().apply({ ...state, revision: 1000, tokens: state.tokens.map((t) => ({ ...t, token: null })) });
}

/** Makes a method of an object fail until the returned function is called. */
async function breakMethod(stub: DurableObjectStub, method: string): Promise<() => Promise<void>> {
  await runInDurableObject(stub, (instance) => {
    Object.defineProperty(instance, method, { configurable: true, value: null });
  });
  return () =>
    runInDurableObject(stub, (instance) => {
      Reflect.deleteProperty(instance, method);
    });
}

describe("a change that did not reach the organization", () => {
  it("counts at once, and is sent by the alarm within a second", async () => {
    const first = await generateToken(root, teamId);
    const mend = await breakMethod(organization(), "apply");
    const second = await generateToken(root, teamId);
    expect(await statusOf(first.text)).toBe(401);
    expect(await listed()).toEqual([first.id]);
    const due = await runInDurableObject(team(), (_, state) => state.storage.getAlarm());
    expect((due ?? Number.POSITIVE_INFINITY) - Date.now()).toBeLessThanOrEqual(1000);
    // It fails again and is not given up.
    await runDurableObjectAlarm(team());
    expect(await listed()).toEqual([first.id]);
    await mend();
    expect(await runDurableObjectAlarm(team())).toBe(true);
    expect(await listed()).toEqual([second.id]);
    expect(await runDurableObjectAlarm(team())).toBe(false);
  });

  it("a deleted token and a deleted team end all the same", async () => {
    const { text } = await generateToken(root, teamId);
    const other = await createTeam(root, name, "other");
    const { text: otherText } = await generateToken(root, other);
    const mend = await breakMethod(organization(), "apply");
    expect((await api("DELETE", `teams/${teamId}/authentication-token`, { token: root })).status).toBe(204);
    expect((await api("DELETE", `teams/${other}`, { token: root })).status).toBe(204);
    expect([await statusOf(text), await statusOf(otherText)]).toEqual([401, 401]);
    expect((await api("GET", `teams/${other}`, { token: root })).status).toBe(404);
    expect(await listed()).toHaveLength(2);
    await mend();
    await runDurableObjectAlarm(team());
    await runDurableObjectAlarm(team(other));
    expect(await listed()).toEqual([]);
    expect((await teamsOf(root, name)).map(({ id }) => id)).toEqual([teamId]);
    expect(await madeIn(team(other))).toEqual([]);
  });

  it("is not lost with the alarm: the object sets it again when it wakes", async () => {
    await generateToken(root, teamId);
    const mend = await breakMethod(organization(), "apply");
    const { id } = await generateToken(root, teamId);
    await mend();
    await runInDurableObject(team(), async (_, state) => {
      await state.storage.deleteAlarm();
      new Team(state, bindings);
    });
    expect(await runDurableObjectAlarm(team())).toBe(true);
    expect(await listed()).toEqual([id]);
  });
});

describe("late messages", () => {
  it("change nothing when newer ones are known", async () => {
    await generateToken(root, teamId);
    const old = await stateOf();
    const { id } = await generateToken(root, teamId);
    expect(await organization().apply(old)).toEqual({ kind: "applied" });
    expect(await listed()).toEqual([id]);
  });

  it("do not bring a deleted team back", async () => {
    await generateToken(root, teamId);
    const old = await stateOf();
    await api("DELETE", `teams/${teamId}`, { token: root });
    expect(await organization().apply(old)).toEqual({ kind: "unknown_team" });
    expect(await listed()).toEqual([]);
    expect(await teamsOf(root, name)).toEqual([]);
  });

  it("of a team of an earlier organization are for nobody", async () => {
    await generateToken(root, teamId);
    const old = await stateOf();
    await api("DELETE", `organizations/${name}`, { token: root });
    await createOrganization(root, name);
    expect(await organization().apply({ ...old, unregistered: true })).toEqual({ kind: "no_organization" });
    expect(await teamsOf(root, name)).toEqual([]);
  });
});

describe("an organization that does not answer", () => {
  const named = async () => (await teamsOf(root, name)).map(({ attributes }) => attributes.name);
  const late = resource("teams", { name: "late" });

  it("503: no team can be made; none turns up later, and the name is free", async () => {
    const mend = await breakMethod(organization(), "apply");
    const before = (await listDurableObjectIds(bindings.TEAM)).map(String);
    const refused = await api("POST", `organizations/${name}/teams`, { token: root, body: late });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("Retry-After")).toBe("1");
    const [made] = (await listDurableObjectIds(bindings.TEAM)).filter((id) => !before.includes(String(id)));
    await mend();
    if (!made) throw new Error("there is no new object");
    const stub = bindings.TEAM.get(made);
    const tables = async () => {
      // On a busy machine the alarm may be due, and have run, before this.
      await runDurableObjectAlarm(stub);
      return madeIn(stub);
    };
    await expect.poll(tables).toEqual([]);
    expect(await named()).toEqual(["team"]);
    expect((await api("POST", `organizations/${name}/teams`, { token: root, body: late })).status).toBe(200);
  });

  it("503: a team can't be renamed; it is when the organization agrees, and keeps its name when it does not", async () => {
    const other = await createTeam(root, name, "other");
    const mend = await breakMethod(organization(), "apply");
    const rename = (id: string, to: string) =>
      api("PATCH", `teams/${id}`, { token: root, body: resource("teams", { name: to }) });
    expect((await rename(teamId, "new")).status).toBe(503);
    expect((await rename(other, "TEAM")).status).toBe(503);
    const visible = resource("teams", { visibility: "organization" });
    expect((await api("PATCH", `teams/${other}`, { token: root, body: visible })).status).toBe(200);
    await mend();
    await runDurableObjectAlarm(team(other));
    await runDurableObjectAlarm(team());
    expect(await named()).toEqual(["new", "other"]);
    const kept = (await api("GET", `teams/${other}`, { token: root })).body.data.attributes;
    expect(kept).toMatchObject({ name: "other", visibility: "organization" });
  });
});

describe("reconciliation", () => {
  it("finds nothing to do where everything agrees", async () => {
    const { id } = await generateToken(root, teamId);
    const before = await rowsOf(organization(), "teams");
    expect((await organization().reconcile(0, 10)).next).toBeNull();
    expect(await rowsOf(organization(), "teams")).toEqual(before);
    expect(await listed()).toEqual([id]);
  });

  it("puts right an organization that was restored to an earlier time", async () => {
    const other = await createTeam(root, name, "other");
    const gone = await createTeam(root, name, "gone");
    await generateToken(root, gone);
    const ghost = await stateOf(gone);
    await api("DELETE", `teams/${gone}`, { token: root });
    const old = await stateOf();
    const { id } = await generateToken(root, teamId);
    const late = await generateToken(root, other);
    // What a restore does: an old token shown, a deleted team shown.
    await organization().apply({ ...ghost, unregistered: true });
    await changeRows(organization(), "teams", { revision: old.revision }, { team_id: teamId });
    await alter(
      organization(),
      "UPDATE tokens SET token_id = 'at-old', token = json_set(token, '$.tokenId', 'at-old') WHERE team_id = ?",
      teamId,
    );
    expect([...(await listed())].sort()).toEqual([ghost.tokens[0]?.tokenId, "at-old", late.id].sort());
    for (let after: number | null = 0; after !== null; ) after = (await organization().reconcile(after, 1)).next;
    expect([...(await listed())].sort()).toEqual([id, late.id].sort());
    expect(await teamsOf(root, name)).toHaveLength(2);
  });

  it("does not change a team that has sent a newer state since", async () => {
    await generateToken(root, teamId);
    let newer = "";
    const comparing = atCalls(Team, "compare", async () => {
      comparing.end();
      newer = (await generateToken(root, teamId)).id;
      return { revision: 1, sealed: 0, tampered: 0, terms: [] };
    });
    await organization().reconcile(0, 10);
    expect(await listed()).toEqual([newer]);
  });

  it("continues by itself from time to time", async () => {
    const { id } = await generateToken(root, teamId);
    await loseTokens();
    await runDurableObjectAlarm(organization());
    expect(await listed()).toEqual([]);
    vi.setSystemTime(Date.now() + 7 * 3_600_000);
    await runDurableObjectAlarm(organization());
    expect(await listed()).toEqual([id]);
    const next = await runInDurableObject(organization(), (_, state) => state.storage.getAlarm());
    expect(next).toBeGreaterThan(Date.now());
  });

  it("of everything takes organizations off the list that do not exist, and goes through the others", async () => {
    const { id } = await generateToken(root, teamId);
    await organizationDirectory(bindings).put({ name: "ghost", organizationId: "org-x", email: "", createdAt: 0 });
    // A team that does not answer keeps no other from being compared.
    const silent = await createTeam(root, name, "silent");
    await breakMethod(team(silent), "revision");
    await loseTokens();
    expect(await listed()).toEqual([]);
    const { organizations, vanished } = await reconcileTeams(bindings);
    expect(vanished).toBe(1);
    expect(organizations).toBeGreaterThan(1);
    expect(await listed()).toEqual([id]);
    expect((await api("GET", "organizations?q=ghost", { token: root })).body.data).toEqual([]);
  });
});

describe("tidy", () => {
  it("counts a row of a team that was tampered with once: by the comparison of its lists, not with other objects", async () => {
    const before = await reconcileTeams(bindings);
    await alter(team(), "UPDATE team SET record = replace(record, 'organization', 'organisation')");
    expect((await checkObjects(bindings)).tampered).toBe(0);
    expect((await reconcileTeams(bindings)).tampered).toBe(before.tampered + 1);
  });

  it("leaves an organization that was tampered with on the list of all, so that the next run counts it too", async () => {
    const before = await reconcileTeams(bindings);
    await alter(organization(), "UPDATE organization SET record = replace(record, 'name', 'nome')");
    await evictDurableObject(organization());
    for (let run = 0; run < 2; run++) {
      const { tampered, vanished } = await reconcileTeams(bindings);
      expect([tampered > before.tampered, vanished]).toEqual([true, 0]);
    }
    const { items } = await organizationDirectory(bindings).after(0, 1000);
    expect(items.map((item) => item.name)).toContain(name);
  });
});

describe("an organization that is not on the list of all", () => {
  it("is put there by its alarm", async () => {
    const directory = organizationDirectory(bindings);
    const mend = await breakMethod(directory, "put");
    await createOrganization(root, `${name}-late`);
    const found = async () => (await api("GET", `organizations?q=${name}-late`, { token: root })).body.data;
    expect(await found()).toEqual([]);
    await mend();
    await runDurableObjectAlarm(organizationNamed(bindings, `${name}-late`));
    expect(await found()).toHaveLength(1);
  });
});

describe("the deletion of an organization", () => {
  it("ends its teams and their tokens at once and leaves nothing", async () => {
    const { text } = await generateToken(root, teamId);
    expect(await statusOf(text)).toBe(200);
    expect((await api("DELETE", `organizations/${name}`, { token: root })).status).toBe(204);
    expect(await statusOf(text)).toBe(401);
    expect((await api("GET", `teams/${teamId}`, { token: root })).status).toBe(404);
    expect((await api("POST", `teams/${teamId}/authentication-token`, { token: root })).status).toBe(404);
    for (const stub of [organization(), team()]) {
      expect(await madeIn(stub)).toEqual([]);
      expect(await runDurableObjectAlarm(stub)).toBe(false);
    }
  });

  it("refuses tokens of teams that it has not reached yet, and continues after a crash", async () => {
    const { text } = await generateToken(root, teamId);
    const mend = await breakMethod(team(), "end");
    const waits = vi.spyOn(scheduler, "wait").mockResolvedValue();
    // A client that lost the answer repeats the call, which waits again: the copies that teams have, and a second for a clock.
    for (let i = 0; i < 2; i++) {
      expect((await api("DELETE", `organizations/${name}`, { token: root })).status).toBe(204);
    }
    expect(waits.mock.calls).toEqual([[6000], [6000]]);
    expect(await statusOf(text)).toBe(401);
    expect((await list(root, name, "team-tokens")).status).toBe(404);
    // So it is for an object that wakes up only now.
    await runInDurableObject(organization(), async (_, state) => {
      const woken = new Organization(state, bindings);
      await state.blockConcurrencyWhile(async () => {});
      expect(woken.show(name)).toBeNull();
    });
    // The name is free when the last team is gone.
    const body = resource("organizations", { name, email: "a@example.com" });
    expect((await api("POST", "organizations", { token: root, body })).status).toBe(422);
    await mend();
    expect(await runDurableObjectAlarm(organization())).toBe(true);
    expect((await api("DELETE", `organizations/${name}`, { token: root })).status).toBe(404);
    expect((await api("POST", "organizations", { token: root, body })).status).toBe(201);
    expect(await statusOf(text)).toBe(401);
    expect((await api("GET", `teams/${teamId}`, { token: root })).status).toBe(404);
  });

  it("of many teams ends some before it answers and leaves the rest to the alarm", async () => {
    const { text } = await generateToken(root, teamId);
    const [{ team: record = "" } = {}] = await rowsOf(organization(), "teams");
    await alter(organization(), "UPDATE teams SET row = row + 1000");
    const gone = Array.from({ length: 70 }, (_, at) => `gone${at}`);
    await insertRows(
      organization(),
      "teams",
      gone.map((key, at) => ({ row: at + 1, team_id: `team-${key}`, name_key: key, revision: 1, team: record })),
    );
    expect(await organization().remove(name)).toBe("going");
    expect(await statusOf(text)).toBe(401);
    expect((await api("GET", `organizations?q=${name}`, { token: root })).body.data).toEqual([]);
    await runDurableObjectAlarm(organization());
    expect(await madeIn(organization())).toEqual([]);
  });

  it("leaves alone an organization that gets the name while a slower run of the deletion ends", async () => {
    let isAsked = false;
    let isMaking = false;
    let answer: unknown;
    const until = async (isSo: () => boolean) => {
      while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    atNth(Team, "end", 1, async (proceed) => {
      await proceed();
      isAsked = true;
      await until(() => isMaking);
    });
    const removing = organization().remove(name);
    await until(() => isAsked);
    // The alarm's run is done before that of the request.
    await runDurableObjectAlarm(organization());
    atNth(Team, "create", 1, async (proceed) => {
      isMaking = true;
      await until(() => answer !== undefined);
      return proceed();
    });
    const body = resource("organizations", { name, email: "a@example.com" });
    const making = api("POST", "organizations", { token: root, body });
    answer = await removing;
    expect((await making).status).toBe(201);
    await crash(organization());
    expect((await api("GET", `organizations/${name}`, { token: root })).status).toBe(200);
  });

  it("reaches a busy team within the time that it works with what it knows", async () => {
    const { text } = await generateToken(root, teamId);
    expect(await statusOf(text)).toBe(200);
    const mend = await breakMethod(team(), "end");
    await organization().remove(name);
    vi.setSystemTime(Date.now() + 4999);
    expect(await statusOf(text)).toBe(200);
    vi.setSystemTime(Date.now() + 1);
    expect(await statusOf(text)).toBe(401);
    await mend();
  });
});

import { TEAMS, text } from "../client.ts";
import { ORGANIZATION } from "../fake-environment.ts";
import type { Action, WriterClient } from "../writer-client.ts";

/** Teams and their tokens, of which each team has at most one. */
export const TEAM_ACTIONS: readonly Action[] = [create, generate, generate, removeToken, removeTeam];

async function create(writer: WriterClient): Promise<boolean> {
  const name = writer.newName();
  const answer = await writer.ask("POST", `${TEAMS}/organizations/${ORGANIZATION}/teams`, resource("teams", { name }));
  if (!answer) return false;
  writer.made("team", text(answer, "data", "id"), null);
  return true;
}

/** A new token takes the place of the one before. */
async function generate(writer: WriterClient): Promise<boolean> {
  const team = writer.pick("team");
  if (!team) return true;
  const before = writer.living("team token").filter(({ parent }) => parent === team);
  const path = `${TEAMS}/teams/${team.id}/authentication-token`;
  let made = "";
  const answered = await writer.end(before, async () => {
    const answer = await writer.ask("POST", path, resource("authentication-tokens", {}));
    if (answer) made = text(answer, "data", "attributes", "token");
    return answer;
  });
  if (answered) writer.made("team token", made, team);
  return answered;
}

async function removeToken(writer: WriterClient): Promise<boolean> {
  const token = writer.pick("team token");
  if (!token?.parent) return true;
  const path = `${TEAMS}/teams/${token.parent.id}/authentication-token`;
  return writer.end([token], () => writer.ask("DELETE", path));
}

async function removeTeam(writer: WriterClient): Promise<boolean> {
  const team = writer.pick("team");
  if (!team) return true;
  return writer.end([team], () => writer.ask("DELETE", `${TEAMS}/teams/${team.id}`));
}

function resource(type: string, attributes: Readonly<Record<string, unknown>>) {
  return { data: { type, attributes } };
}

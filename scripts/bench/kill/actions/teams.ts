import { TEAMS, text } from "../client.ts";
import type { Action, Hand } from "../hand.ts";
import { ORGANIZATION } from "../world.ts";

/** Teams and their tokens, of which each team has at most one. */
export const TEAM_ACTIONS: readonly Action[] = [create, generate, generate, removeToken, removeTeam];

async function create(hand: Hand): Promise<boolean> {
  const name = hand.newName();
  const answer = await hand.ask("POST", `${TEAMS}/organizations/${ORGANIZATION}/teams`, resource("teams", { name }));
  if (!answer) return false;
  hand.made("team", text(answer, "data", "id"), null);
  return true;
}

/** A new token takes the place of the one before. */
async function generate(hand: Hand): Promise<boolean> {
  const team = hand.pick("team");
  if (!team) return true;
  const before = hand.living("team token").filter(({ parent }) => parent === team);
  const path = `${TEAMS}/teams/${team.id}/authentication-token`;
  let made = "";
  const answered = await hand.end(before, async () => {
    const answer = await hand.ask("POST", path, resource("authentication-tokens", {}));
    if (answer) made = text(answer, "data", "attributes", "token");
    return answer;
  });
  if (answered) hand.made("team token", made, team);
  return answered;
}

async function removeToken(hand: Hand): Promise<boolean> {
  const token = hand.pick("team token");
  if (!token?.parent) return true;
  const path = `${TEAMS}/teams/${token.parent.id}/authentication-token`;
  return hand.end([token], () => hand.ask("DELETE", path));
}

async function removeTeam(hand: Hand): Promise<boolean> {
  const team = hand.pick("team");
  if (!team) return true;
  return hand.end([team], () => hand.ask("DELETE", `${TEAMS}/teams/${team.id}`));
}

function resource(type: string, attributes: Readonly<Record<string, unknown>>) {
  return { data: { type, attributes } };
}

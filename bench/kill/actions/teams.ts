import { TEAMS, text } from "../../servers/client.ts";
import { ORGANIZATION } from "../environment.ts";
import { type Action, ending } from "../writer.ts";

const create: Action = async (writer) => {
  const body = { data: { type: "teams", attributes: { name: writer.newName() } } };
  const answer = await writer.ask("POST", `${TEAMS}/organizations/${ORGANIZATION}/teams`, body);
  writer.made("team", text(answer, "data", "id"), null);
};

/** A new token takes the place of the previous one. */
const generate: Action = async (writer) => {
  const team = writer.pick("team");
  if (!team) return;
  const previous = writer.living("team token").filter(({ parent }) => parent === team);
  const body = { data: { type: "authentication-tokens", attributes: {} } };
  const path = `${TEAMS}/teams/${team.id}/authentication-token`;
  const answer = await writer.end(previous, () => writer.ask("POST", path, body));
  writer.made("team token", text(answer, "data", "attributes", "token"), team);
};

const removeToken = ending("team token", (writer, { parent }) => {
  return writer.ask("DELETE", `${TEAMS}/teams/${parent?.id}/authentication-token`);
});

const removeTeam = ending("team", (writer, { id }) => writer.ask("DELETE", `${TEAMS}/teams/${id}`));

/** Teams and their tokens, of which each team has at most one. */
export const TEAM_ACTIONS: readonly Action[] = [create, generate, generate, removeToken, removeTeam];

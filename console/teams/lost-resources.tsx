import { useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { useLoad } from "../ui/index.ts";
import { listResources } from "./resource-api.ts";
import { type Resource, type TeamToken, teamOf, tokensPath } from "./resources.ts";

interface LostResourcesProps {
  /** The endpoint that lists what goes with a deletion. */
  readonly path: string;
  readonly noun: string;
}

/** How many teams, or tokens of teams, go with the deletion of an organization, or why that is not known. */
export function LostResources({ path, noun }: LostResourcesProps) {
  const { api } = useSession();
  const { value, problem } = useLoad(path, () => listResources(api, path, 1));
  return <Lost count={value?.total} more={false} noun={noun} why={problem?.messages.join(" ")} />;
}

interface LostTokensProps {
  readonly organization: string;
  /** Id and name of the team. */
  readonly id: string;
  readonly name: string;
}

/** How many tokens go with a team. */
export function LostTokens({ organization, id, name }: LostTokensProps) {
  const { api } = useSession();
  const path = tokensPath(organization);
  // The API lists the tokens of all teams of an organization, and `q` finds a part of a team's name.
  const { value, problem } = useLoad(id, () => listResources<TeamToken>(api, path, 1, { q: name }));
  const own = value?.items.filter((token: Resource<TeamToken>) => teamOf(token) === id).length;
  return <Lost count={own} more={(value?.pages ?? 1) > 1} noun="token" why={problem?.messages.join(" ")} />;
}

interface LostProps {
  /** Undefined while it is not known. */
  readonly count: number | undefined;
  readonly more: boolean;
  readonly noun: string;
  readonly why: string | undefined;
}

function Lost({ count, more, noun, why }: LostProps) {
  if (why !== undefined) return <>{`an unknown number of ${noun}s (${why})`}</>;
  if (count === undefined) return <>{`${noun}s (counting…)`}</>;
  return <strong>{`${amountText({ count, more })} ${noun}${count === 1 && !more ? "" : "s"}`}</strong>;
}

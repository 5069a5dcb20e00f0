import { ASKED_PATHS } from "../asked-paths.ts";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { listResources } from "../teams/resource-api.ts";
import { type Organization, type Resource, type TeamToken, teamOf, teamsPath, tokensPath } from "../teams/resources.ts";
import { Card, DataTable, End, useLoad } from "../ui/index.ts";
import { endsWithin } from "./ends-within.ts";
import type { Span } from "./time-span.ts";

/** Most organizations whose tokens are read, with one request each. */
const MOST_ORGANIZATIONS = 10;

interface EndingToken {
  readonly organization: string;
  readonly token: Resource<TeamToken>;
}

/** Tokens of teams that end in a span. They are not in the list of tokens, nor in the counts of this page. */
export function TeamEnds({ span }: { readonly span: Span }) {
  const session = useSession();
  const { api } = session;
  const mayRead = mayDo(session, ASKED_PATHS.organizations, "read");
  const loaded = useLoad(`teams ${mayRead}`, async () => {
    if (!mayRead) return done(null);
    const found = await listResources<Organization>(api, teamsPath("organizations"), 1);
    if (!found.ok) return found;
    const names = found.value.items.slice(0, MOST_ORGANIZATIONS).map(({ id }) => id);
    const lists = await Promise.all(
      names.map(async (organization) => {
        // The tokens that end first are on the first page.
        const answer = await listResources<TeamToken>(api, tokensPath(organization), 1, { sort: "expired-at" });
        if (!answer.ok) return null;
        const { items, pages } = answer.value;
        return { of: items.map((token) => ({ organization, token })), items, pages };
      }),
    );
    const read = lists.filter((list) => list !== null);
    return done({
      tokens: read.flatMap(({ of }) => of),
      // The last ones of their first page: more may end at the same time or after it.
      cut: read.flatMap(({ items, pages }) => (pages > 1 ? items.slice(-1) : [])),
      isAll: found.value.total <= names.length,
      read: names.length,
      unread: names.length - read.length,
    });
  });
  const teams = <a href={href(["teams"])}>Teams</a>;
  if (!mayRead || loaded.problem) {
    return <p class="muted">Tokens of teams are not counted here; {teams} has them, to who may read organizations.</p>;
  }
  if (!loaded.value || (loaded.value.read === 0 && loaded.value.isAll)) return null;
  const { tokens, cut, isAll, read, unread } = loaded.value;
  const ending = endsWithin(span, tokens, ({ token }) => token.attributes["expired-at"]);
  const more = cut.some(({ attributes: { "expired-at": end } }) => end !== null && Date.parse(end) < span.until);
  return (
    <Card
      title={
        <>
          Tokens of teams that end in this time{" "}
          <span class="muted number">
            {more ? `the first ${counted(ending.length, "token")}` : counted(ending.length, "token")}
          </span>
        </>
      }
      beside={<span class="muted">{isAll ? "" : `of the first ${read} organizations; `}not in the counts above</span>}
    >
      {unread > 0 && (
        <p class="body">
          The tokens of {counted(unread, "organization")} could not be read: what ends there is not known.
        </p>
      )}
      {ending.length === 0 ? (
        <p class="body muted">
          {unread > 0 ? "None of those that were read." : "None."} {teams} has all.
        </p>
      ) : (
        <DataTable<EndingToken>
          label="Tokens of teams"
          rows={ending}
          keyOf={({ token }) => token.id}
          columns={[
            {
              label: "Team",
              cell: ({ organization, token }) => (
                <a href={href(["teams", organization, teamOf(token)], { token: token.id })}>
                  {token.attributes["team-name"]}
                </a>
              ),
            },
            { label: "Organization", cell: ({ organization }) => organization },
            {
              label: "Description",
              cell: ({ token }) => token.attributes.description || <span class="muted">none</span>,
            },
            { label: "Ends", cell: ({ token }) => <End at={token.attributes["expired-at"]} both /> },
          ]}
        />
      )}
    </Card>
  );
}

import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { AllowedButton, type DataColumn, DataTable, End, Notice, Time, useNow } from "../ui/index.ts";
import { deleteTokens } from "./resource-api.ts";
import { type Resource, rotationPath, type TeamToken, teamOf, teamTokenName, tokensPath } from "./resources.ts";

/** Most tokens that one call deletes. */
const MOST = 100;

interface TokenListProps {
  readonly organization: string;
  readonly tokens: readonly Resource<TeamToken>[];
  /** True to hide the column of the team. */
  readonly ofOneTeam?: boolean;
  /** Id of the token to highlight. */
  readonly marked?: string;
  /** Called with the ids of deleted tokens. */
  readonly onChange: (ended: readonly string[]) => void;
  readonly onRotate?: (token: Resource<TeamToken>) => void;
}

/** Tokens of teams. Selected tokens are revoked together. */
export function TokenList({
  organization,
  tokens,
  ofOneTeam = false,
  marked = "",
  onChange,
  onRotate,
}: TokenListProps) {
  const { api } = useSession();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const chosen = tokens.filter(({ id }) => selected.has(id)).slice(0, MOST);
  const toggle = (id: string): void => {
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  };
  const [ended, setEnded] = useState<Ended | null>(null);
  const columns: readonly DataColumn<Resource<TeamToken>>[] = [
    {
      label: "Selected",
      isBare: true,
      cell: (token) => (
        <input
          type="checkbox"
          aria-label={`Select ${teamTokenName(token.attributes)}`}
          checked={selected.has(token.id)}
          onChange={() => toggle(token.id)}
        />
      ),
    },
    ...(ofOneTeam
      ? []
      : [
          {
            label: "Team",
            cell: (token: Resource<TeamToken>) => (
              <a href={href(["teams", organization, teamOf(token)])}>{token.attributes["team-name"]}</a>
            ),
          },
        ]),
    {
      label: "Description",
      cell: ({ id, attributes: { description, "rotated-at": rotated } }) => (
        <>
          {description || <span class="muted">none</span>}{" "}
          {rotated !== undefined && <span class="tag warn">rotated</span>}
          {id === marked && <span class="tag bad">the one you looked for</span>}
        </>
      ),
    },
    { label: "Ends", cell: ({ attributes: { "expired-at": end } }) => <TokenEnd at={end} /> },
    {
      label: "Made",
      cell: ({ attributes: { "created-at": made, "created-by-name": by } }) => (
        <>
          <Time at={made} />
          {by ? ` by ${by}` : ""}
        </>
      ),
    },
    {
      label: "Last used",
      cell: ({ attributes: { "last-used-at": used } }) =>
        used ? <Time at={used} /> : <span class="muted">never</span>,
    },
    ...(onRotate
      ? [
          {
            label: "Rotation",
            right: true,
            cell: (token: Resource<TeamToken>) =>
              token.attributes["rotated-at"] === undefined && (
                <AllowedButton look="button slim" needs={needsOf(rotationPath(token))} onClick={() => onRotate(token)}>
                  Rotate…
                </AllowedButton>
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      {ended && <EndedNotice organization={organization} ended={ended} />}
      {tokens.length > 0 && (
        <DataTable label="Tokens of teams" rows={tokens} columns={columns} keyOf={({ id }) => id} marked={marked} />
      )}
      {chosen.length > 0 && (
        <div class="table-foot">
          <ConfirmButton
            look="button danger"
            label={`Revoke ${counted(chosen.length, "token")}…`}
            needs={needsOf(tokensPath(organization), "DELETE")}
            title={`Revoke ${counted(chosen.length, "token")} of teams`}
            typing={String(chosen.length)}
            action="Revoke"
            send={() =>
              deleteTokens(
                api,
                organization,
                chosen.map(({ id }) => id),
              )
            }
            onDone={() => {
              setEnded({ tokens: chosen, at: new Date().toISOString() });
              setSelected(new Set());
              onChange(chosen.map(({ id }) => id));
            }}
          >
            <ul>
              {chosen.map((token) => (
                <li key={token.id}>
                  {teamTokenName(token.attributes)} <code class="small muted">{token.id}</code>
                </li>
              ))}
            </ul>
            <p>They are refused from the answer on. All are revoked, or none.</p>
          </ConfirmButton>
        </div>
      )}
    </>
  );
}

/** Tokens that were revoked on this page. */
interface Ended {
  readonly tokens: readonly Resource<TeamToken>[];
  readonly at: string;
}

/** Who revoked which tokens, and when, with links to what is recorded of each. */
function EndedNotice({
  organization,
  ended: { tokens, at },
}: {
  readonly organization: string;
  readonly ended: Ended;
}) {
  const { name } = useSession();
  return (
    <div class="body" role="status">
      <Notice tone="good" title={`Revoked: ${counted(tokens.length, "token")} of teams`}>
        <p>
          By {name}, <Time at={at} both />. The record of each:
        </p>
        <ul>
          {tokens.map((token) => (
            <li key={token.id}>
              <a href={href(["teams", organization, teamOf(token)], { token: token.id })}>
                {teamTokenName(token.attributes)}
              </a>
            </li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}

/** A rotated token stays listed for some time after its end. */
function TokenEnd({ at }: { readonly at: string | null }) {
  const hasEnded = at !== null && Date.parse(at) <= useNow();
  return hasEnded ? (
    <>
      <span class="tag bad">ended</span> <Time at={at} />
    </>
  ) : (
    <End at={at} />
  );
}

import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { AllowedButton, type DataColumn, DataTable, End, Time, useNow } from "../ui/index.ts";
import { deleteTokens, type Resource, rotationPath, type TeamToken, teamOf, tokensPath } from "./resources.ts";

/** Most tokens that one call deletes. */
const MOST = 100;

interface TokenListProps {
  readonly organization: string;
  readonly tokens: readonly Resource<TeamToken>[];
  /** True to hide the column of the team. */
  readonly ofOneTeam?: boolean;
  /** Id of the token to highlight. */
  readonly marked?: string;
  readonly onChange: () => void;
  readonly onRotate?: (token: Resource<TeamToken>) => void;
}

/** Tokens of teams. Selected tokens are deleted together. */
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
  const columns: readonly DataColumn<Resource<TeamToken>>[] = [
    {
      label: "Selected",
      isBare: true,
      cell: ({ id, attributes }) => (
        <input
          type="checkbox"
          aria-label={`Select ${attributes.description || "the token without a description"} of ${attributes["team-name"]}`}
          checked={selected.has(id)}
          onChange={() => toggle(id)}
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
      <DataTable label="Tokens of teams" rows={tokens} columns={columns} keyOf={({ id }) => id} marked={marked} />
      {chosen.length > 0 && (
        <div class="table-foot">
          <ConfirmButton
            look="button danger"
            label={`Delete ${counted(chosen.length, "token")}…`}
            needs={needsOf(tokensPath(organization), "DELETE")}
            title={`Delete ${counted(chosen.length, "token")}`}
            typing={String(chosen.length)}
            action="Delete"
            send={() =>
              deleteTokens(
                api,
                organization,
                chosen.map(({ id }) => id),
              )
            }
            onDone={() => {
              setSelected(new Set());
              onChange();
            }}
          >
            <p>They are refused from the answer on. All are deleted, or none.</p>
          </ConfirmButton>
        </div>
      )}
    </>
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

import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { useSession } from "../session.ts";
import { AllowedButton, type DataColumn, DataTable, End, Time } from "../ui/index.ts";
import { deleteTokens, type Resource, rotationPath, type TeamToken, teamOf, tokensPath } from "./resources.ts";

/** Most tokens that one call deletes. */
const MOST = 100;

interface TokenListProps {
  readonly organization: string;
  readonly tokens: readonly Resource<TeamToken>[];
  /** Without the column that names the team. */
  readonly ofOneTeam?: boolean;
  readonly onChange: () => void;
  readonly onRotate?: (token: Resource<TeamToken>) => void;
}

/** Tokens of teams. Selected tokens are deleted together. */
export function TokenList({ organization, tokens, ofOneTeam = false, onChange, onRotate }: TokenListProps) {
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
      cell: ({ attributes: { description, "rotated-at": rotated } }) => (
        <>
          {description || <span class="muted">none</span>}{" "}
          {rotated !== undefined && <span class="tag warn">rotated</span>}
        </>
      ),
    },
    { label: "Ends", cell: ({ attributes }) => <End at={attributes["expired-at"]} /> },
    { label: "Made", cell: ({ attributes }) => <Time at={attributes["created-at"]} /> },
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
      <DataTable label="Tokens of teams" rows={tokens} columns={columns} keyOf={({ id }) => id} />
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

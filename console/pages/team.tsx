import { useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { Timeline } from "../audit/timeline.tsx";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DeleteButton } from "../records/confirm.tsx";
import { noteDone } from "../records/done-notice.tsx";
import { secondsOf } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { mayDo, useSession } from "../session.ts";
import { LostTokens } from "../teams/lost-resources.tsx";
import { listResources, readResource } from "../teams/resource-api.ts";
import {
  type Organization,
  type Resource,
  resourceRequest,
  rotationPath,
  type Team,
  type TeamToken,
  teamOf,
  teamsPath,
  teamTokenName,
  tokensPath,
} from "../teams/resources.ts";
import { NEW_TEAM_TOKEN, rotationOf, TEAM, TERRAFORM_TEAM } from "../teams/team-fields.ts";
import { TokenList } from "../teams/token-list.tsx";
import { usualEnd } from "../teams/usual-end.ts";
import { AllowedButton, Card, Dialog, Empty, Loading, Notice, PageHead, SecretDialog, useLoad } from "../ui/index.ts";

const TOKEN_TYPE = "authentication-tokens";

interface TeamPageProps {
  readonly organization: string;
  readonly id: string;
  /** Id of the token to highlight; "" for none. */
  readonly marked: string;
}

/** One team: its settings and its tokens. */
export function TeamPage({ organization, id, marked }: TeamPageProps) {
  const session = useSession();
  const { api } = session;
  const team = useLoad(id, () => readResource<Team>(api, teamsPath("teams", id)));
  const value = team.value;
  /** Ids of the tokens that this page deleted. */
  const [ended, setEnded] = useState<readonly string[]>([]);
  return (
    <>
      <PageHead
        title={value?.attributes.name ?? "Team"}
        text={
          <>
            <a href={href(["teams", organization])}>{organization}</a> <code class="muted">{id}</code>
          </>
        }
      >
        <DeleteButton
          look="button danger"
          path={teamsPath("teams", id)}
          name={value?.attributes.name ?? ""}
          title={`Delete ${value?.attributes.name}`}
          idle={value ? "" : "the team is not read"}
          onDone={() => {
            noteDone(
              `The team ${value?.attributes.name ?? id} is deleted, and its tokens are refused`,
              teamsPath("teams", id),
            );
            go(href(["teams", organization]), "replace");
          }}
        >
          <p>
            With it go <LostTokens organization={organization} id={id} name={value?.attributes.name ?? ""} />, which are
            refused from the answer on.
          </p>
        </DeleteButton>
      </PageHead>
      <Loading of={team} />
      {value && (
        <div class="stack">
          <Tokens
            {...{ organization, id, marked, ended }}
            name={value.attributes.name}
            onEnded={(ids) => setEnded([...ended, ...ids])}
          />
          {marked !== "" && mayDo(session, ASKED_PATHS.audit, "read", "sudo") && (
            <Timeline
              // Reads the events again, with that of its deletion.
              key={String(ended.includes(marked))}
              title="The token that you looked for"
              question={{ accessor: marked }}
              empty="Nothing is recorded of it"
            />
          )}
          <section class="card" aria-label="Team">
            <div class="body">
              <RecordForm
                groups={TEAM}
                record={{ ...value.attributes }}
                action="Save"
                request={(values) => resourceRequest("PATCH", teamsPath("teams", id), "teams", values)}
                terraform={{ resource: TERRAFORM_TEAM, given: { organization } }}
                onSaved={team.reload}
              />
            </div>
          </section>
        </div>
      )}
    </>
  );
}

interface TokensProps extends TeamPageProps {
  readonly name: string;
  readonly ended: readonly string[];
  readonly onEnded: (ids: readonly string[]) => void;
}

function Tokens({ organization, id, name, marked, ended, onEnded }: TokensProps) {
  const { api } = useSession();
  const path = tokensPath(organization);
  const list = useLoad(`${path} ${id} ${name}`, () => listResources<TeamToken>(api, path, 1, { q: name }));
  const rules = useLoad(organization, () => readResource<Organization>(api, teamsPath("organizations", organization)));
  const [adding, setAdding] = useState(false);
  const [rotating, setRotating] = useState<Resource<TeamToken> | null>(null);
  const [secret, setSecret] = useState("");
  const tokens = (list.value?.items ?? []).filter((token) => teamOf(token) === id);
  const made = (_: unknown, { attributes: { token } }: Resource<TeamToken>): void => {
    setAdding(false);
    setRotating(null);
    setSecret(token ?? "");
    list.reload();
  };
  return (
    <Card
      of={list}
      title="Tokens"
      beside={
        <AllowedButton
          look="button slim"
          needs={needsOf(teamsPath("teams", id, "authentication-tokens"))}
          onClick={() => setAdding(true)}
        >
          New token…
        </AllowedButton>
      }
    >
      {list.value?.pages === 1 && tokens.length === 0 && (
        <Empty title="No tokens yet">
          <p>The holder of a token of the team acts as the team.</p>
        </Empty>
      )}
      {list.value && marked !== "" && !tokens.some((token) => token.id === marked) && (
        <p class="body" role="status">
          The token <code>{marked}</code>{" "}
          {ended.includes(marked)
            ? "was deleted just now."
            : "is not among these: it was deleted, or is on another page."}{" "}
          What is recorded of it is below.
        </p>
      )}
      {list.value && (
        <TokenList
          organization={organization}
          tokens={tokens}
          ofOneTeam
          marked={marked}
          onChange={(ids) => {
            onEnded(ids);
            list.reload();
          }}
          onRotate={setRotating}
        />
      )}
      {list.value && list.value.pages > 1 && (
        <p class="body muted">
          The first are shown: <a href={href(["teams", organization], { part: "tokens" })}>all tokens</a>.
        </p>
      )}
      {adding && (
        <Dialog title="New token" onClose={() => setAdding(false)}>
          {usualEnd(rules.value?.attributes ?? null) === null && (
            <Notice tone="warn" title="Without an end this token never ends">
              The organization sets no lifetime.
            </Notice>
          )}
          <RecordForm
            groups={NEW_TEAM_TOKEN}
            record={null}
            action="Make the token"
            onCancel={() => setAdding(false)}
            request={(attributes) =>
              resourceRequest("POST", teamsPath("teams", id, "authentication-tokens"), TOKEN_TYPE, attributes)
            }
            terraform={{ resource: { type: "tfe_team_token" }, given: { team_id: id } }}
            onSaved={made}
          />
        </Dialog>
      )}
      {rotating && (
        <Dialog title={`Rotate ${teamTokenName(rotating.attributes)}`} onClose={() => setRotating(null)}>
          <p>A new token takes its description and its policies. Who has the old one needs the new one in time.</p>
          <RecordForm
            groups={rotationOf(rotating.attributes, rules.value?.attributes ?? null)}
            record={null}
            action="Rotate"
            onCancel={() => setRotating(null)}
            request={({ "overlap-seconds": overlap = "", ...attributes }) =>
              resourceRequest("POST", rotationPath(rotating), TOKEN_TYPE, {
                ...attributes,
                "overlap-seconds": Math.round(secondsOf(String(overlap))),
              })
            }
            onSaved={made}
          />
        </Dialog>
      )}
      {secret !== "" && <SecretDialog title="Token made" label="Token" secret={secret} onClose={() => setSecret("")} />}
    </Card>
  );
}

import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { Confirm } from "../records/confirm.tsx";
import { secondsOf } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { NEW_TOKEN, ROTATION, TEAM } from "../teams/forms.ts";
import {
  listResources,
  type Resource,
  readResource,
  sendResource,
  type Team,
  type TeamToken,
  teamOf,
  teamsPath,
} from "../teams/resources.ts";
import { ShownOnce } from "../teams/shown-once.tsx";
import { TokenList } from "../teams/token-list.tsx";
import { Dialog, Empty } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { useLoad } from "../ui/use-load.ts";

const TOKEN_TYPE = "authentication-tokens";

interface TeamPageProps {
  readonly organization: string;
  readonly id: string;
}

/** One team: what it is, and its tokens. */
export function TeamPage({ organization, id }: TeamPageProps) {
  const { api } = useSession();
  const team = useLoad(id, () => readResource<Team>(api, teamsPath("teams", id)));
  const [asking, setAsking] = useState(false);
  const value = team.value;
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
        <button type="button" class="button danger" onClick={() => setAsking(true)} disabled={!value}>
          Delete…
        </button>
      </PageHead>
      {team.problem && <ProblemNotice problem={team.problem} onRetry={team.reload} />}
      {value && (
        <div class="stack">
          <Tokens organization={organization} id={id} name={value.attributes.name} />
          <section class="card" aria-label="Team">
            <div class="body">
              <RecordForm
                groups={TEAM}
                record={{ ...value.attributes }}
                action="Save"
                send={(body) => sendResource(api, "PATCH", teamsPath("teams", id), "teams", body)}
                onSaved={team.reload}
              />
            </div>
          </section>
        </div>
      )}
      {asking && value && (
        <Confirm
          title={`Delete ${value.attributes.name}`}
          typing={value.attributes.name}
          action="Delete"
          send={() => api.call(teamsPath("teams", id), { method: "DELETE" })}
          onDone={() => go(href(["teams", organization]), "replace")}
          onClose={() => setAsking(false)}
        >
          <p>Its tokens are refused from the answer on.</p>
        </Confirm>
      )}
    </>
  );
}

function Tokens({ organization, id, name }: TeamPageProps & { readonly name: string }) {
  const { api } = useSession();
  const path = teamsPath("organizations", organization, "team-tokens");
  const list = useLoad(`${path} ${id} ${name}`, () => listResources<TeamToken>(api, path, 1, { q: name }));
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
    <section class="card" aria-labelledby="team-tokens">
      <header>
        <h2 id="team-tokens">Tokens</h2>
        <button type="button" class="button slim" onClick={() => setAdding(true)}>
          New token…
        </button>
      </header>
      {list.problem && <ProblemNotice problem={list.problem} onRetry={list.reload} />}
      {list.value && tokens.length === 0 && (
        <Empty title="No tokens yet">
          <p>The holder of a token of the team acts as the team.</p>
        </Empty>
      )}
      {tokens.length > 0 && (
        <TokenList
          organization={organization}
          tokens={tokens}
          ofOneTeam
          onChange={list.reload}
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
          <RecordForm
            groups={NEW_TOKEN}
            record={null}
            action="Make the token"
            send={(attributes) =>
              sendResource<TeamToken>(
                api,
                "POST",
                teamsPath("teams", id, attributes.description ? "authentication-tokens" : "authentication-token"),
                TOKEN_TYPE,
                attributes,
              )
            }
            onSaved={made}
          />
        </Dialog>
      )}
      {rotating && (
        <Dialog title="Rotate the token" onClose={() => setRotating(null)}>
          <RecordForm
            groups={ROTATION}
            record={null}
            action="Rotate"
            send={({ "overlap-seconds": overlap = "", ...attributes }) =>
              sendResource<TeamToken>(
                api,
                "POST",
                teamsPath("authentication-tokens", rotating.id, "actions", "rotate"),
                TOKEN_TYPE,
                { ...attributes, "overlap-seconds": Math.round(secondsOf(String(overlap))) },
              )
            }
            onSaved={made}
          />
        </Dialog>
      )}
      {secret !== "" && <ShownOnce secret={secret} onClose={() => setSecret("")} />}
    </section>
  );
}

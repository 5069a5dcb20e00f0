import { useState } from "preact/hooks";
import type { Envelope } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { duration } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { RecordForm } from "../records/record-form.tsx";
import { unwrapCommands } from "../records/request-commands.ts";
import { done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { Policies } from "../tokens/links.tsx";
import { aliasesOf, newTokenForm, newTokenRequest, rootMistake, TERRAFORM_TOKEN } from "../tokens/new-token-form.ts";
import { Copy, Notice, PageHead, ProblemNotice, useLoad, Warnings } from "../ui/index.ts";

/** Makes a token, and shows it once. */
export function NewTokenPage() {
  const session = useSession();
  const { api, self } = session;
  const isRoot = self.policies.includes("root");
  const mayList = mayDo(session, ASKED_PATHS.roles, "list");
  const roles = useLoad("roles", async () => (mayList ? api.list(ASKED_PATHS.roles) : done(null)));
  const isRefused = !mayList || roles.problem?.status === 403;
  const [role, setRole] = useState("");
  const chosen = useLoad(`role ${role}`, async () => {
    if (role === "") return done(null);
    const answer = await api.read<{ readonly allowed_entity_aliases?: readonly string[] | null }>(
      `auth/token/roles/${pathOf(role)}`,
    );
    return done(aliasesOf(answer.ok ? answer.value : undefined));
  });
  const [made, setMade] = useState<Envelope<unknown> | null>(null);
  if (made) return <MadeToken made={made} onAnother={() => setMade(null)} />;
  return (
    <>
      <PageHead title="New token" />
      {(!roles.busy || roles.problem) && (
        <div class="card form">
          {roles.problem && !isRefused && <ProblemNotice problem={roles.problem} onRetry={roles.reload} />}
          <RecordForm
            groups={newTokenForm(
              roles.value,
              isRefused ? "Your policies refuse the list of roles." : "The list of roles was not read.",
              isRoot,
              roles.value ? chosen.value : [],
            )}
            onTyped={(name, value) => name === "role_name" && roles.value && setRole(value)}
            record={null}
            action="Make the token"
            request={newTokenRequest}
            mistake={(values) => rootMistake(values, isRoot)}
            terraform={{ resource: TERRAFORM_TOKEN }}
            onSaved={(_, __, answer) => setMade(answer)}
          />
        </div>
      )}
    </>
  );
}

/** A new token, or its wrapping token. It is not stored. */
function MadeToken({ made, onAnother }: { readonly made: Envelope<unknown>; readonly onAnother: () => void }) {
  const { auth, wrap_info: wrapped } = made;
  const label = wrapped ? "Wrapping token" : "Token";
  const accessor = auth?.accessor ?? wrapped?.wrapped_accessor ?? "";
  return (
    <>
      <PageHead title={wrapped ? "Wrapped token made" : "Token made"} />
      <div class="card form">
        <Notice tone="warn" title="Shown once">
          It is kept nowhere: copy it now.
        </Notice>
        <div class="field">
          <span class="label">{label}</span>
          <Copy value={wrapped?.token ?? auth?.client_token ?? ""} label={label} />
        </div>
        {wrapped && (
          <div class="field">
            <span class="label">To unwrap it</span>
            <Copy value={unwrapCommands(window.location.origin, wrapped.token)} label="Commands" />
          </div>
        )}
        {wrapped && (
          <p class="muted">
            It works once, within {duration(wrapped.ttl)}. The recipient runs these commands, or pastes it at the
            sign-in of this console, as a wrapping token, and is signed in with the token inside.
          </p>
        )}
        {auth && (
          <div class="field">
            <span class="label">Policies</span>
            <Policies names={auth.policies} most={20} />
          </div>
        )}
        {auth?.policies.includes("root") && (
          <Notice tone="warn" title="This is a root token">
            It may do everything. Revoke it as soon as its work is done.
          </Notice>
        )}
        <Warnings of={made} />
        <div class="actions">
          <button type="button" class="button" onClick={onAnother}>
            Another one
          </button>
          {accessor !== "" && (
            <a class="button primary" href={href(["tokens", accessor])}>
              Show the token's page
            </a>
          )}
        </div>
      </div>
    </>
  );
}

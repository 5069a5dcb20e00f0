import type { AuthMounts } from "../../client/answers.d.ts";
import { duration } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { tokensOfMounts } from "../methods/mount.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DoneNotice } from "../records/done-notice.tsx";
import type { FieldGroup } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { GroupCount } from "../tokens/group-count.tsx";
import { AllowedLink, DataTable, Icon, Loading, PageHead, useLoad } from "../ui/index.ts";

/** All auth methods. */
export function MethodsPage() {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<AuthMounts>("sys/auth"));
  const counts = useLoad("counts", () => tokensOfMounts(api));
  return (
    <>
      <PageHead title="Auth methods">
        <a class="button primary" href={href(["methods"], { setup: "github" })}>
          Set up a login…
        </a>
        <AllowedLink look="button" needs={needsOf("sys/auth/new")} isExample href={href(["methods"], { new: "1" })}>
          <Icon name="plus" /> Enable a method
        </AllowedLink>
      </PageHead>
      <DoneNotice />
      <Loading of={mounts} />
      {mounts.value && (
        <section class="card" aria-label="Auth methods">
          <DataTable
            label="Auth methods"
            rows={Object.entries(mounts.value)}
            keyOf={([path]) => path}
            columns={[
              {
                label: "Path",
                cell: ([path]) => (
                  <a class="mono" href={href(["methods", path.replace(/\/$/, "")])}>
                    auth/{path}
                  </a>
                ),
              },
              { label: "Type", cell: ([, { type }]) => type },
              {
                label: "Tokens made by it",
                right: true,
                cell: ([path]) => (
                  <GroupCount
                    summary={counts.value}
                    group={`auth/${path}`}
                    tokens={href(["tokens"], { mount: `auth/${path}` })}
                  />
                ),
              },
              {
                label: "Longest life",
                right: true,
                cell: ([, { config }]) => (config.max_lease_ttl > 0 ? duration(config.max_lease_ttl) : "usual"),
              },
              { label: "Description", cell: ([, { description }]) => <span title={description}>{description}</span> },
            ]}
          />
        </section>
      )}
    </>
  );
}

const ENABLING: readonly FieldGroup[] = [
  {
    title: "Method",
    fields: [
      {
        name: "type",
        label: "Type",
        kind: "choice",
        choices: ["approle", "aws", "cloud", "jwt", "kubernetes", "oidc"],
        hint: "approle: machines with a secret of their own. aws: instances and principals of AWS. cloud: the same in the words of any cloud. jwt: tokens that others sign. kubernetes: service accounts, whose API server is asked. oidc: people, at their identity provider.",
      },
      { name: "path", label: "Path", kind: "text", required: true, hint: "Below auth/: the name that logins use." },
      { name: "description", label: "Description", kind: "text" },
    ],
  },
];

/** The page that enables an auth method. */
export function NewMethodPage() {
  return (
    <>
      <PageHead title="Enable a method" />
      <div class="card form">
        <RecordForm
          groups={ENABLING}
          record={null}
          action="Enable"
          request={({ path, ...body }) => ({ path: `sys/auth/${pathOf(...String(path).split("/"))}`, body })}
          terraform={{ resource: { type: "vault_auth_backend" } }}
          onSaved={({ path }) => go(href(["methods", String(path).replace(/\/$/, "")]), "replace")}
        />
      </div>
    </>
  );
}

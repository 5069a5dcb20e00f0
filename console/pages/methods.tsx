import { pathOf } from "../api.ts";
import { count, duration } from "../format.ts";
import { href } from "../href.ts";
import type { Mounts } from "../methods/mount.ts";
import { tokensOfMounts } from "../methods/token-counts.ts";
import type { FieldGroup } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { Icon } from "../ui/icons.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Scroll } from "../ui/scroll.tsx";
import { useLoad } from "../ui/use-load.ts";

/** All ways to get a token. */
export function MethodsPage() {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<Mounts>("sys/auth"));
  const counts = useLoad("counts", () => tokensOfMounts(api));
  return (
    <>
      <PageHead title="Auth methods">
        <a class="button primary" href={href(["methods"], { new: "1" })}>
          <Icon name="plus" /> Enable a method
        </a>
      </PageHead>
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      {mounts.value && (
        <section class="card" aria-label="Auth methods">
          <Scroll label="Auth methods">
            <table>
              <thead>
                <tr>
                  <th scope="col">Path</th>
                  <th scope="col">Type</th>
                  <th scope="col">Description</th>
                  <th scope="col" class="right">
                    Longest life
                  </th>
                  <th scope="col" class="right">
                    Tokens
                  </th>
                </tr>
              </thead>
              <tbody>
                {Object.entries(mounts.value).map(([path, { type, description, config }]) => (
                  <tr key={path}>
                    <td class="mono">
                      <a href={href(["methods", path.replace(/\/$/, "")])}>auth/{path}</a>
                    </td>
                    <td>{type}</td>
                    <td class="wide" title={description}>
                      {description}
                    </td>
                    <td class="right">{config.max_lease_ttl > 0 ? duration(config.max_lease_ttl) : "usual"}</td>
                    <td class="right">
                      {counts.value === null ? (
                        <span class="muted">–</span>
                      ) : (
                        <a href={href(["tokens"], { mount: `auth/${path}` })}>
                          {count(counts.value.get(`auth/${path}`) ?? 0)}
                        </a>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
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
        choices: ["aws", "cloud", "jwt"],
        hint: "aws: instances and principals of AWS. cloud: the same in the words of any cloud. jwt: tokens that others sign.",
      },
      { name: "path", label: "Path", kind: "text", required: true, hint: "Below auth/: the name that logins use." },
      { name: "description", label: "Description", kind: "text" },
    ],
  },
];

/** Enables an auth method. */
export function NewMethodPage() {
  const { api } = useSession();
  return (
    <>
      <PageHead title="Enable a method" />
      <div class="card form">
        <RecordForm
          groups={ENABLING}
          record={null}
          action="Enable"
          send={({ path, ...body }) => api.call(`sys/auth/${pathOf(...String(path).split("/"))}`, { body })}
          onSaved={({ path }) => go(href(["methods", String(path).replace(/\/$/, "")]), "replace")}
        />
      </div>
    </>
  );
}

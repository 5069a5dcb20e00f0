import { pathOf } from "../api.ts";
import { count, duration } from "../format.ts";
import { href } from "../router.ts";
import { useSession } from "../session.ts";
import { Empty } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { useLoad } from "../ui/use-load.ts";
import type { Summary } from "./ends.tsx";

/** An auth mount, as `sys/auth` tells of it. */
interface Mount {
  readonly type: string;
  readonly description: string;
  readonly accessor: string;
  /** Seconds; 0 is what the installation has. */
  readonly config: { readonly default_lease_ttl: number; readonly max_lease_ttl: number };
}

/** Where the roles of each type of method are listed and read, below its mount. */
const ROLE_PATHS: Readonly<Record<string, readonly [list: string, one: string]>> = {
  token: ["roles", "roles"],
  cloud: ["roles", "role"],
  aws: ["roles", "role"],
  jwt: ["role", "role"],
};

/** Where each type of method has settings that can be shown. Secrets in them are never answered. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  cloud: ["config/client", "config/identity"],
  aws: ["config/client", "config/identity"],
  jwt: ["config"],
};

const encoded = (path: string): string => pathOf(...path.replace(/\/$/, "").split("/"));

/** All ways to get a token. */
export function MethodsPage() {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<Readonly<Record<string, Mount>>>("sys/auth"));
  const counts = useLoad("counts", () => api.read<Summary>("sys/tokens/summary", { group_by: "mount" }));
  const tokens = new Map(counts.value?.groups.map((group) => [group.key, group.count] as const));
  return (
    <>
      <PageHead title="Auth methods" />
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      {mounts.value && (
        <section class="card" aria-label="Auth methods">
          <div class="scroll">
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
                          {count(tokens.get(`auth/${path}`) ?? 0)}
                        </a>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </>
  );
}

/** One auth method: its settings and roles, and one of the roles. */
export function MethodPage({ path, role }: { readonly path: string; readonly role: string }) {
  const { api } = useSession();
  const mounts = useLoad(path, () => api.read<Readonly<Record<string, Mount>>>("sys/auth"));
  const mount = mounts.value?.[`${path}/`];
  const places = mount && ROLE_PATHS[mount.type];
  return (
    <>
      <PageHead title={`auth/${path}/`} text={mount?.description}>
        <a class="button" href={href(["tokens"], { mount: `auth/${path}/` })}>
          Its tokens
        </a>
      </PageHead>
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      {mounts.value && !mount && <Empty title="No auth method is at this path" />}
      {mount && places && (
        <div class="columns">
          <div class="stack">
            {role !== "" && (
              <Facts title={`Role ${role}`} path={`auth/${encoded(path)}/${places[1]}/${pathOf(role)}`} />
            )}
            {(SETTINGS[mount.type] ?? []).map((settings) => (
              <Facts key={settings} title={`Settings at ${settings}`} path={`auth/${encoded(path)}/${settings}`} />
            ))}
            <Facts title="Lifetimes and visibility" path={`sys/auth/${encoded(path)}/tune`} />
          </div>
          <Roles path={path} listPath={`auth/${encoded(path)}/${places[0]}`} current={role} />
        </div>
      )}
    </>
  );
}

interface RolesProps {
  readonly path: string;
  readonly listPath: string;
  readonly current: string;
}

function Roles({ path, listPath, current }: RolesProps) {
  const { api } = useSession();
  const roles = useLoad(listPath, () => api.list(listPath));
  return (
    <section class="card" aria-labelledby="roles">
      <header>
        <h2 id="roles">Roles</h2>
        {roles.value && <span class="muted number">{count(roles.value.length)}</span>}
      </header>
      {roles.problem && (
        <div class="body">
          <ProblemNotice problem={roles.problem} onRetry={roles.reload} />
        </div>
      )}
      {roles.value?.length === 0 && (
        <Empty title="No roles yet">
          <p>A role says who may log in, and what the token may do.</p>
        </Empty>
      )}
      {roles.value && roles.value.length > 0 && (
        <table>
          <tbody>
            {roles.value.map((name) => (
              <tr key={name} class={name === current ? "selected" : undefined}>
                <td class="wide">
                  <a
                    href={href(["methods", path], { role: name })}
                    aria-current={name === current ? "true" : undefined}
                  >
                    {name}
                  </a>
                </td>
                <td class="right">
                  <a href={href(["tokens"], { mount: `auth/${path}/`, role: name })}>tokens</a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** What the API tells at a path, field by field; what says nothing is left out. */
function Facts({ title, path }: { readonly title: string; readonly path: string }) {
  const { api } = useSession();
  const facts = useLoad(path, () => api.read<Readonly<Record<string, unknown>> | null>(path));
  const fields = Object.entries(facts.value ?? {}).filter(([, value]) => !isBlank(value));
  const missing = facts.problem?.status === 404;
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <div class="body">
        {facts.problem && !missing && <ProblemNotice problem={facts.problem} onRetry={facts.reload} />}
        {(missing || (facts.value && fields.length === 0)) && <p class="muted">Nothing is set.</p>}
        {fields.length > 0 && (
          <dl class="facts">
            {fields.map(([name, value]) => (
              <>
                <dt key={`${name} name`}>{name.replaceAll("_", " ")}</dt>
                <dd key={name}>{shown(name, value)}</dd>
              </>
            ))}
          </dl>
        )}
      </div>
    </section>
  );
}

function isBlank(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === "" || value === 0 || value === false;
}

function shown(name: string, value: unknown): string {
  if (value === true) return "yes";
  if (typeof value === "number") return /ttl|period/.test(name) ? duration(value) : count(value);
  if (Array.isArray(value)) return value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

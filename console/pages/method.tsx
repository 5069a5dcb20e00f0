import { useState } from "preact/hooks";
import type { AuthMounts } from "../../client/answers.d.ts";
import { Timeline } from "../audit/timeline.tsx";
import { href } from "../href.ts";
import { AppRoleAccess } from "../methods/app-role-access.tsx";
import { LoginCheck } from "../methods/login-check.tsx";
import { scopeOfMount } from "../methods/mount.ts";
import { MountActions } from "../methods/mount-actions.tsx";
import { belowMount } from "../methods/mount-paths.ts";
import { PARTS } from "../methods/parts-by-type.ts";
import { RefusedLogins } from "../methods/refused-logins.tsx";
import { RoleTags } from "../methods/role-tags.tsx";
import { SecretIds } from "../methods/secret-ids.tsx";
import { Tuning } from "../methods/tuning.tsx";
import { CollectionPart } from "../records/collection-part.tsx";
import type { RecordValue } from "../records/field.ts";
import type { Part } from "../records/part.ts";
import { SettingsPart } from "../records/settings-part.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { Empty, Loading, Notice, PageHead, Tabs, UnknownValues, unknownIn, useLoad } from "../ui/index.ts";

const TUNING = "tuning";
/** Types whose roles can be narrowed by a tag of the instance. */
const HAS_TAGS: ReadonlySet<string> = new Set(["aws", "cloud"]);

/** One auth method, with a tab for each of its roles, settings and lists. */
export function MethodPage({ path, query }: { readonly path: string; readonly query: URLSearchParams }) {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<AuthMounts>("sys/auth"));
  const mount = mounts.value?.[`${path}/`];
  const parts = PARTS[mount?.type ?? ""] ?? [];
  const known = [...parts.map((one) => one.part), TUNING];
  const unknown = mount ? unknownIn(query, { part: known }) : [];
  const asked = unknown.length > 0 ? null : query.get("part");
  const needed = parts.find((one) => one.kind === "settings" && one.isNeeded === true);
  const missing = useMissing(path, needed, asked);
  // A method that was just enabled opens on the tab of its next step.
  const current = asked ?? (missing.value ? needed : parts[0])?.part ?? TUNING;
  const part = parts.find((one) => one.part === current);
  const name = query.get("name") ?? "";
  const scope = scopeOfMount(path);
  const [ended, noteEnded] = useState(0);
  return (
    <>
      <PageHead title={`auth/${path}/`} text={mount && [mount.type, mount.description].filter(Boolean).join(" · ")}>
        <a class="button" href={href(["tokens"], { mount: `auth/${path}/` })}>
          Its tokens
        </a>
        {mount && (
          <MountActions key={path} mount={path} type={mount.type} onEnded={() => noteEnded((before) => before + 1)} />
        )}
      </PageHead>
      {ended > 0 && <Notice tone="good" title={`All tokens of auth/${path}/ are refused`} />}
      <Loading of={mounts} />
      {mounts.value && !mount && <Empty title="No auth method is at this path" />}
      {mount && (asked !== null || missing.isKnown) && (
        <>
          <Tabs
            label="Parts of the method"
            current={current}
            tabs={[...parts.map((one) => [one.part, one.title] as const), [TUNING, "Tuning"] as const].map(
              ([at, title]) => ({ name: at, title, href: href(["methods", path], { part: at }) }),
            )}
          />
          <UnknownValues names={unknown} />
          {needed && missing.value && current !== needed.part && (
            <div class="before">
              <Notice tone="warn" title={`No login works before “${needed.title}” is set`}>
                <a class="button slim" href={href(["methods", path], { part: needed.part })}>
                  Set it
                </a>
              </Notice>
            </div>
          )}
          {part?.kind === "collection" && (
            <CollectionPart
              key={part.part}
              scope={scope}
              part={part}
              name={name}
              isNew={query.has("new")}
              above={
                part.isRole && mount.type === "approle"
                  ? (record, role) => (
                      <AppRole mount={path} name={role} role={record} marked={query.get("secret_id") ?? ""} />
                    )
                  : undefined
              }
              more={
                part.isRole
                  ? (endpoint, record, role) => (
                      <>
                        {HAS_TAGS.has(mount.type) && roleTags(endpoint, record)}
                        <Timeline
                          title="Timeline"
                          question={{ mount: `auth/${path}/`, role }}
                          empty="No login by it and no change of it is recorded"
                        />
                      </>
                    )
                  : undefined
              }
            />
          )}
          {part?.kind === "login check" && <LoginCheck key={part.part} mount={path} part={part} />}
          {part?.kind === "refused logins" && <RefusedLogins key={part.part} mount={path} part={part} />}
          {part?.kind === "settings" && <SettingsPart key={part.part} scope={scope} part={part} />}
          {!part && <Tuning key={ended} mount={path} type={mount.type} />}
        </>
      )}
    </>
  );
}

/**
 * True when settings are missing without which no login works. Checked again on each tab, as the user may have set them
 * there.
 */
function useMissing(mount: string, needed: Part | undefined, tab: string | null) {
  const { api } = useSession();
  const path = needed?.kind === "settings" ? belowMount(mount, needed.path) : "";
  const key = JSON.stringify([path, tab]);
  const found = useLoad(key, async () => {
    if (path === "") return done({ key, isMissing: false });
    const answer = await api.read(path);
    // Only a 404 means missing. After any other failure the tab itself shows the problem.
    return done({ key, isMissing: !answer.ok && answer.problem.status === 404 });
  });
  const isKnown = found.value?.key === key;
  return { isKnown, value: isKnown && found.value?.isMissing === true };
}

interface AppRoleProps {
  readonly mount: string;
  readonly name: string;
  readonly role: RecordValue;
  /** The accessor of the secret-id to highlight; "" for none. */
  readonly marked: string;
}

/** The credentials of a role of the approle method. */
function AppRole({ marked, ...props }: AppRoleProps) {
  return (
    <>
      <AppRoleAccess {...props} address={window.location.origin} />
      <SecretIds path={belowMount(props.mount, "role", props.name)} role={props.role} marked={marked} />
    </>
  );
}

const roleTags = (endpoint: string, { role_tag: key }: RecordValue) => (
  <RoleTags path={`${endpoint}/tag`} keyOfTag={typeof key === "string" ? key : ""} />
);

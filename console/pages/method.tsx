import { href } from "../href.ts";
import { CollectionPart } from "../methods/collection-part.tsx";
import { LoginCheck } from "../methods/login-check.tsx";
import type { Mounts } from "../methods/mount.ts";
import { PARTS } from "../methods/parts.ts";
import { SettingsPart } from "../methods/settings-part.tsx";
import { Tuning } from "../methods/tuning.tsx";
import { useSession } from "../session.ts";
import { Empty } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { useLoad } from "../ui/use-load.ts";

const TUNING = "tuning";

/** One auth method: its roles, settings and lists, each on a tab of its own. */
export function MethodPage({ path, query }: { readonly path: string; readonly query: URLSearchParams }) {
  const { api } = useSession();
  const mounts = useLoad("mounts", () => api.read<Mounts>("sys/auth"));
  const mount = mounts.value?.[`${path}/`];
  const parts = PARTS[mount?.type ?? ""] ?? [];
  const current = query.get("part") ?? parts[0]?.part ?? TUNING;
  const part = parts.find((one) => one.part === current);
  const name = query.get("name") ?? "";
  return (
    <>
      <PageHead title={`auth/${path}/`} text={mount && [mount.type, mount.description].filter(Boolean).join(" · ")}>
        <a class="button" href={href(["tokens"], { mount: `auth/${path}/` })}>
          Its tokens
        </a>
      </PageHead>
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      {mounts.value && !mount && <Empty title="No auth method is at this path" />}
      {mount && (
        <>
          <Tabs
            label="Parts of the method"
            current={current}
            tabs={[...parts.map((one) => [one.part, one.title] as const), [TUNING, "Tuning"] as const].map(
              ([at, title]) => ({ name: at, title, href: href(["methods", path], { part: at }) }),
            )}
          />
          {part?.kind === "collection" && (
            <CollectionPart key={part.part} mount={path} part={part} name={name} isNew={query.has("new")} />
          )}
          {part?.kind === "login check" && <LoginCheck key={part.part} mount={path} part={part} />}
          {part?.kind === "settings" && <SettingsPart key={part.part} mount={path} part={part} />}
          {!part && <Tuning mount={path} type={mount.type} />}
        </>
      )}
    </>
  );
}

import type { Doctor, Health } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { BulkRevocations } from "../health/bulk-revocations.tsx";
import { Charts } from "../health/charts.tsx";
import { toDoText, unknownText } from "../health/check-urgency.ts";
import { DoctorCard } from "../health/doctor.tsx";
import { Keys } from "../health/keys.tsx";
import { Quotas } from "../health/quotas.tsx";
import { Tidy } from "../health/tidy.tsx";
import { FailingLeasesCard, useFailingLeases } from "../leases/failing.tsx";
import type { Needs } from "../needed-capabilities.ts";
import { type Answer, done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { Figures, Icon, IfAllowed, Loading, PageHead, useLoad } from "../ui/index.ts";

const DOCTOR: Needs = [ASKED_PATHS.doctor, "read", "sudo"];

/** The checks of the service, what it did in the last day, its keys, tidy and quotas. */
export function HealthPage() {
  const session = useSession();
  const { api } = session;
  const health = useLoad("health", () => api.read<Health>("sys/health"));
  const mayCheck = mayDo(session, ...DOCTOR);
  const doctor = useLoad(
    "doctor",
    async (): Promise<Answer<Doctor>> =>
      mayCheck
        ? api.read<Doctor>(ASKED_PATHS.doctor, { client_time: (Date.now() / 1000).toFixed(3) })
        : done({ state: "", checks: [] }),
  );
  const checks = doctor.value?.checks ?? [];
  const [toDo, unknown] = [toDoText(checks), unknownText(checks)];
  const value = health.value;
  return (
    <>
      <PageHead
        title="Health"
        text={
          (toDo !== "" || unknown !== "") && (
            <>
              {toDo !== "" && <strong class="bad">{toDo} </strong>}
              {unknown}
            </>
          )
        }
      />
      <div class="stack">
        <Loading of={health} />
        {value && (
          <Figures
            rows={{
              State: (
                <span class={value.sealed ? "bad" : "good"}>
                  <Icon name={value.sealed ? "alert" : "check"} size={18} /> {value.sealed ? "Sealed" : "Serving"}
                </span>
              ),
              Grove: value.grove_version.split("+")[0],
              "Version in sys/health": value.version,
            }}
          />
        )}
        <IfAllowed title="Checks" needs={[DOCTOR]}>
          <DoctorCard doctor={doctor} />
        </IfAllowed>
        <IfAllowed title="Leases that fail" needs={[[ASKED_PATHS.failingLeases, "read", "sudo"]]}>
          <FailingLeases onTried={doctor.reload} />
        </IfAllowed>
        <IfAllowed title="Traffic" needs={[[ASKED_PATHS.metricsHistory, "read"]]}>
          <Charts />
        </IfAllowed>
        <div class="columns even">
          <IfAllowed title="Tidy" needs={[[ASKED_PATHS.tidyStatus, "read"]]}>
            <Tidy />
          </IfAllowed>
          <IfAllowed title="Keys" needs={[[ASKED_PATHS.keys, "read"]]}>
            <Keys />
          </IfAllowed>
        </div>
        <IfAllowed
          title="Revocations of many"
          needs={[
            [ASKED_PATHS.jobs, "read", "sudo"],
            [ASKED_PATHS.revocations, "read", "sudo"],
          ]}
        >
          <BulkRevocations />
        </IfAllowed>
        <IfAllowed title="Quotas" needs={[[ASKED_PATHS.quotas, "list"]]}>
          <Quotas />
        </IfAllowed>
      </div>
    </>
  );
}

function FailingLeases({ onTried }: { readonly onTried: () => void }) {
  return <FailingLeasesCard failing={useFailingLeases()} onTried={onTried} />;
}

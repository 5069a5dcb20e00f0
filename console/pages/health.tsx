import type { Doctor, Health } from "../../client/answers.d.ts";
import { BulkRevocations } from "../health/bulk-revocations.tsx";
import { Charts } from "../health/charts.tsx";
import { toDoText, unknownText } from "../health/check-urgency.ts";
import { DoctorCard } from "../health/doctor.tsx";
import { Keys } from "../health/keys.tsx";
import { Quotas } from "../health/quotas.tsx";
import { Tidy } from "../health/tidy.tsx";
import { FailingLeasesCard, useFailingLeases } from "../leases/failing.tsx";
import { useSession } from "../session.ts";
import { Figures, Icon, Loading, PageHead, useLoad } from "../ui/index.ts";

/** The checks of the service, what it did in the last day, its keys, tidy and quotas. */
export function HealthPage() {
  const { api } = useSession();
  const health = useLoad("health", () => api.read<Health>("sys/health"));
  const doctor = useLoad("doctor", () =>
    api.read<Doctor>("sys/doctor", { client_time: (Date.now() / 1000).toFixed(3) }),
  );
  const failing = useFailingLeases();
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
        <DoctorCard doctor={doctor} />
        {failing.problem?.status !== 403 && <FailingLeasesCard failing={failing} />}
        <Charts />
        <div class="columns even">
          <Tidy />
          <Keys />
        </div>
        <BulkRevocations />
        <Quotas />
      </div>
    </>
  );
}

import { Fragment } from "preact";
import type { Doctor } from "../../client/answers.d.ts";
import { DocsPage } from "../docs-page.tsx";
import { counted } from "../format.ts";
import { Card, Icon, type IconName, type Loaded } from "../ui/index.ts";
import { linksOfCheck } from "./check-links.ts";
import { byUrgency, stateWord } from "./check-urgency.ts";

type Check = Doctor["checks"][number];

const LOOKS: Readonly<Record<string, readonly [look: string, icon: IconName]>> = {
  ok: ["good", "check"],
  attention: ["warn", "alert"],
  failing: ["bad", "alert"],
};

/** All checks of the server, the worst first, with advice. */
export function DoctorCard({ doctor }: { readonly doctor: Loaded<Doctor> }) {
  const checks = byUrgency(doctor.value?.checks ?? []);
  const [urgent, others] = [checks.filter(({ state }) => state !== "ok"), checks.filter(({ state }) => state === "ok")];
  return (
    <Card
      of={doctor}
      title="Checks"
      beside={
        <button type="button" class="button slim" aria-disabled={doctor.busy} onClick={doctor.reload}>
          Check again
        </button>
      }
    >
      {doctor.value && <CheckList checks={urgent} />}
      {doctor.value && others.length > 0 && (
        <details class="body" open={urgent.length === 0}>
          <summary>{counted(others.length, "check")} without a finding</summary>
          <CheckList checks={others} />
        </details>
      )}
    </Card>
  );
}

function CheckList({ checks }: { readonly checks: readonly Check[] }) {
  if (checks.length === 0) return null;
  return (
    <ul class="findings">
      {checks.map((check) => (
        <CheckRow key={check.name} check={check} />
      ))}
    </ul>
  );
}

function CheckRow({ check: { name, title, state, seen, advice, link } }: { readonly check: Check }) {
  const places = linksOfCheck(name);
  const [look, icon] = LOOKS[state] ?? ["muted", "info"];
  return (
    <li>
      <span class={`state ${look}`}>
        <Icon name={icon} /> {stateWord(state)}
      </span>
      <div>
        <strong>{title}</strong>: {seen}
        {advice !== "" && (
          <p class="small">
            {advice}{" "}
            {places.map(({ label, to }) => (
              <Fragment key={label}>
                <a href={to}>{label}</a>{" "}
              </Fragment>
            ))}
            {link !== "" && <DocsPage page={link} />}
          </p>
        )}
      </div>
    </li>
  );
}

import type { ComponentChildren } from "preact";
import { type Needs, refusalOf } from "../needed-capabilities.ts";
import { useSession } from "../session.ts";
import { Card } from "./card.tsx";

interface IfAllowedProps {
  readonly title: string;
  /** What the content reads first, each with the capabilities that it takes. */
  readonly needs: readonly Needs[];
  readonly children: ComponentChildren;
}

/** A card whose content asks for what the policies may refuse. If they do, it says so and asks nothing. */
export function IfAllowed({ title, needs, children }: IfAllowedProps) {
  const { capabilities } = useSession();
  const refusal = needs.map((one) => refusalOf(one, capabilities.of(one[0]))).find((text) => text !== "");
  if (refusal === undefined) return <>{children}</>;
  return (
    <Card title={title}>
      <p class="body muted">Not shown: {refusal}.</p>
    </Card>
  );
}

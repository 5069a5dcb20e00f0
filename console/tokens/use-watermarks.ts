import { useEffect, useState } from "preact/hooks";
import type { WatermarkRevocations } from "../../client/answers.d.ts";
import { missingOf, type Needs } from "../needed-capabilities.ts";
import { useSession } from "../session.ts";
import { noteWatermarks } from "./recent-revocations.ts";

const PATH = "sys/leases/revocations";
const NEEDS: Needs = [PATH, "read", "sudo"];

/** Reads the bulk revocations from the server, so that the map marks their trees. Reads nothing without the right to. */
export function useWatermarks(): void {
  const { api, capabilities } = useSession();
  const [, draw] = useState(0);
  useEffect(() => {
    let isShown = true;
    const read = async (): Promise<void> => {
      await capabilities.ask([PATH]);
      if (!isShown || missingOf(NEEDS, capabilities.of(PATH)).length > 0) return;
      const answer = await api.read<WatermarkRevocations>(PATH);
      if (!isShown || !answer.ok) return;
      noteWatermarks(answer.value.revocations);
      draw((before) => before + 1);
    };
    void read();
    return () => {
      isShown = false;
    };
  }, [api, capabilities]);
}

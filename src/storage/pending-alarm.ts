/** An alarm that should have come this long ago (ms) was lost, to a restore or to a fault of the platform. */
const LOST_ALARM_MS = 600_000;

/** True for an alarm that should have come long ago, and will not come any more. Both in ms. */
export function isLostAlarm(alarm: number | null, now: number): boolean {
  return alarm !== null && alarm < now - LOST_ALARM_MS;
}

/** When the alarm of an object comes (ms); null when none is set, or when it was lost and has to be set again. `now` in ms. */
export async function pendingAlarm(
  storage: Pick<DurableObjectStorage, "getAlarm">,
  now: number,
): Promise<number | null> {
  const alarm = await storage.getAlarm();
  return isLostAlarm(alarm, now) ? null : alarm;
}

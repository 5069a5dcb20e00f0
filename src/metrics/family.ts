export interface Sample {
  readonly suffix?: "_bucket" | "_sum" | "_count";
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly samples: readonly Sample[];
}

/** Returns a family with one sample, or with none when `value` is null (not known). */
export function single(type: Family["type"], name: string, help: string, value: number | null): Family {
  return { name, help, type, samples: value === null ? [] : [{ value }] };
}

/** Writes families in the exposition format of Prometheus, version 0.0.4. */
export function prometheusText(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ suffix = "", labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${numberText(value)}`,
      );
      return `# HELP ${name} ${help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
    })
    .join("");
}

/** Returns families as JSON, in the shape of the reference's answer without `format`. */
export function metricsObject(families: readonly Family[], timestamp: string): Record<string, unknown> {
  const of = (type: Family["type"]) => families.filter((family) => family.type === type);
  return {
    Timestamp: timestamp,
    Gauges: of("gauge").flatMap(({ name, samples }) =>
      samples.map(({ labels = {}, value }) => ({ Name: dotted(name), Value: value, Labels: labels })),
    ),
    Points: [],
    Counters: of("counter").flatMap(({ name, samples }) =>
      samples.map(({ labels = {}, value }) => ({ Name: dotted(name), Count: value, Sum: value, Labels: labels })),
    ),
    Samples: [...of("summary"), ...of("histogram")].flatMap(summarized),
  };
}

function summarized({ name, samples }: Family) {
  const sums = new Map(
    samples.filter(({ suffix }) => suffix === "_sum").map((sample) => [keyOf(sample), sample.value]),
  );
  return samples
    .filter(({ suffix }) => suffix === "_count")
    .map((sample) => {
      const sum = sums.get(keyOf(sample)) ?? 0;
      const mean = sample.value === 0 ? 0 : sum / sample.value;
      return { Name: dotted(name), Count: sample.value, Sum: sum, Mean: mean, Labels: sample.labels ?? {} };
    });
}

function keyOf({ labels = {} }: Sample): string {
  return JSON.stringify(labels);
}

/** Returns a name as in the reference's JSON: with dots after its first two parts. */
function dotted(name: string): string {
  return name.replace(/^(vault|grove)_([a-z]+)_/, "$1.$2.");
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return "";
  const texts = entries.map(
    ([name, value]) => `${name}="${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`,
  );
  return `{${texts.join(",")}}`;
}

function numberText(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}

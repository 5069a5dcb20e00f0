/**
 * The cloud's regions and service hosts as data. A host is looked up here and never built from the input of a client,
 * so no spelling of a region can send a request or credentials to another host.
 */

/** A part of the cloud with its own accounts; the second item of an ARN. */
export type Partition = "aws" | "aws-cn" | "aws-us-gov" | "aws-eusc";

export type Region = {
  readonly name: string;
  readonly partition: Partition;
  readonly stsHost: string;
  readonly ec2Host: string;
};

type IamHost = { readonly host: string; readonly signingRegion: string };
type Hosts = { readonly suffix: string; readonly iam: IamHost; readonly regions: readonly string[] };

const PARTITIONS: Readonly<Record<Partition, Hosts>> = {
  aws: {
    suffix: "amazonaws.com",
    iam: { host: "iam.amazonaws.com", signingRegion: "us-east-1" },
    regions: [
      ...["af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3"],
      ...["ap-south-1", "ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4"],
      ...["ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "ca-central-1", "ca-west-1", "eu-central-1"],
      ...["eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3"],
      ...["il-central-1", "me-central-1", "me-south-1", "me-west-1", "mx-central-1", "sa-east-1", "sa-west-1"],
      ...["us-east-1", "us-east-2", "us-west-1", "us-west-2"],
    ],
  },
  "aws-cn": {
    suffix: "amazonaws.com.cn",
    iam: { host: "iam.cn-north-1.amazonaws.com.cn", signingRegion: "cn-north-1" },
    regions: ["cn-north-1", "cn-northwest-1"],
  },
  "aws-us-gov": {
    suffix: "amazonaws.com",
    iam: { host: "iam.us-gov.amazonaws.com", signingRegion: "us-gov-west-1" },
    regions: ["us-gov-east-1", "us-gov-west-1"],
  },
  "aws-eusc": {
    suffix: "amazonaws.eu",
    iam: { host: "iam.eusc-de-east-1.amazonaws.eu", signingRegion: "eusc-de-east-1" },
    regions: ["eusc-de-east-1"],
  },
};

const REGIONS = new Map<string, Region>();
for (const partition of Object.keys(PARTITIONS).filter(isPartition)) {
  const { suffix, regions } = PARTITIONS[partition];
  for (const name of regions) {
    REGIONS.set(name, { name, partition, stsHost: `sts.${name}.${suffix}`, ec2Host: `ec2.${name}.${suffix}` });
  }
}

/** Partitions whose STS also has hosts for IPv4 and IPv6. */
const DUAL_STACK: ReadonlySet<Partition> = new Set(["aws", "aws-us-gov"]);

/** Hosts of the security token service, with the region of signatures for each. */
const STS_HOSTS: ReadonlyMap<string, string> = new Map([
  // The global host, and those with FIPS 140 modules.
  ["sts.amazonaws.com", "us-east-1"],
  ...["us-east-1", "us-east-2", "us-west-1", "us-west-2"].map(
    (name) => [`sts-fips.${name}.amazonaws.com`, name] as const,
  ),
  ...[...REGIONS.values()].flatMap(({ name, partition, stsHost }) => [
    [stsHost, name] as const,
    ...(DUAL_STACK.has(partition) ? [[`sts.${name}.api.aws`, name] as const] : []),
  ]),
]);

/** The region with this name, or null. */
export function findRegion(name: string): Region | null {
  return REGIONS.get(name) ?? null;
}

/** The region of signatures for an STS host (lower case, no port); null for any other host. */
export function regionOfStsHost(host: string): string | null {
  return STS_HOSTS.get(host) ?? null;
}

export function iamHostOf(partition: Partition): IamHost {
  return PARTITIONS[partition].iam;
}

export function isPartition(text: string): text is Partition {
  return Object.hasOwn(PARTITIONS, text);
}

/** SARIF 2.1.0: one run, the catalogue of codes as its rules. */
import { ISSUE_CODES, type Issue, type IssueCode } from "../../domain/gitops/issue-codes.ts";
import { fingerprintsOf, jsonText, messageOf, type Report } from "./report.ts";

const CODES = Object.keys(ISSUE_CODES) as IssueCode[];

/** The document; `version` is myrctl's. */
export function sarifOf(report: Report, version: string): string {
  const fingerprints = fingerprintsOf(report);
  const { git } = report.revision;
  const run = {
    tool: { driver: { name: "myrctl", version, semanticVersion: version, rules: CODES.map(ruleOf) } },
    columnKind: "utf16CodeUnits",
    ...(git?.url !== undefined &&
      URL.canParse(git.url) && { versionControlProvenance: [{ repositoryUri: git.url, revisionId: git.commit }] }),
    results: report.issues.map((issue) => resultOf(report, issue, fingerprints.get(issue) ?? "")),
  };
  return jsonText({ $schema: SCHEMA, version: "2.1.0", runs: [run] });
}

const SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

function ruleOf(code: IssueCode): object {
  const { severity, todo } = ISSUE_CODES[code];
  const title = code.replaceAll("_", " ");
  return {
    id: code,
    name: code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    shortDescription: { text: `${title[0]?.toUpperCase()}${title.slice(1)}.` },
    fullDescription: { text: todo },
    help: { text: todo },
    defaultConfiguration: { level: severity },
  };
}

function resultOf(report: Report, issue: Issue, fingerprint: string): object {
  const { code, severity, kind, name, line, column } = issue;
  // a URI reference: each part of the path is encoded
  const uri = report.revision.rooted(issue.file).split("/").map(encodeURIComponent).join("/");
  return {
    ruleId: code,
    ruleIndex: CODES.indexOf(code),
    level: severity,
    message: { text: messageOf(issue) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri, uriBaseId: "%SRCROOT%" },
          region: { startLine: line, startColumn: column },
        },
        ...(kind !== undefined && {
          logicalLocations: [{ fullyQualifiedName: name === undefined ? kind : `${kind}/${name}`, kind: "object" }],
        }),
      },
    ],
    partialFingerprints: { "myrctl/v1": fingerprint },
  };
}

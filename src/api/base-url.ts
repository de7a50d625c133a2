/** Which address an agent downloads from (contract, "Download base URLs"). */

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "ws:": "80", "https:": "443", "wss:": "443" };

/**
 * The first of `agentBaseUrls` whose host and port equal those of the updater's
 * `dev.myriarch.updater.server_endpoint` (compared without case, default ports filled in), else `publicUrl`.
 * The answer has no trailing slash. An endpoint that is no URL matches nothing.
 */
export function chooseBaseUrl(
  serverEndpoint: string | undefined,
  agentBaseUrls: readonly string[],
  publicUrl: string,
): string {
  const wanted = serverEndpoint === undefined ? undefined : hostAndPort(serverEndpoint);
  const match = wanted === undefined ? undefined : agentBaseUrls.find((base) => hostAndPort(base) === wanted);
  return (match ?? publicUrl).replace(/\/+$/, "");
}

/** `<base>/api/v1/artifacts/<id>/content/<file>` (contract, "Package offers"). */
export const downloadUrl = (base: string, artifact: string, fileName: string): string =>
  `${base}/api/v1/artifacts/${artifact}/content/${encodeURIComponent(fileName)}`;

function hostAndPort(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const port = url.port === "" ? DEFAULT_PORTS[url.protocol] : url.port;
  return port === undefined || url.hostname === "" ? undefined : `${url.hostname.toLowerCase()}:${port}`;
}

/**
 * What git says when it fails, as a message that says what to do: people read it as the reason of `sync_failed`, and few
 * know git's texts (they are those of `LC_ALL=C`).
 */

/** The first that fits counts: the more special before the more general. */
const ADVICE: readonly [RegExp, string][] = [
  [
    /remote host identification has changed|host key for .* has changed/i,
    "the server shows another SSH host key than gitops.credentials.knownHostsFile has: ask its operator, then replace the line",
  ],
  [
    /host key verification failed|no .* host key is known/i,
    "the server's SSH host key is not in gitops.credentials.knownHostsFile: add it (ssh-keyscan, compared with what its operator says)",
  ],
  [
    /unprotected private key|bad permissions|load key .*(?:invalid format|error in libcrypto|permission denied|no such file)|identity file .* not accessible|no such identity/i,
    "the key of gitops.credentials.sshKeyFile cannot be used: a private key without passphrase that only this account may read (mode 0600)",
  ],
  [
    /permission denied \(|too many authentication failures/i,
    "the server does not accept the key of gitops.credentials.sshKeyFile: register its public key there, reading is enough",
  ],
  [
    /authentication failed|could not read (?:username|password)|returned error: 40[13]|invalid username or (?:password|token)/i,
    "the server does not accept the credential: check gitops.credentials.tokenFile and that the token may read the repository",
  ],
  [
    /certificate|unable to get local issuer/i,
    "the server's certificate is not trusted: name its CA in SSL_CERT_FILE or GIT_SSL_CAINFO of the worker's environment",
  ],
  [
    /returned error: 30\d|update url base from redirection|redirect/i,
    "the server redirects, and a credential is sent to its own address only: write the final URL into gitops.url",
  ],
  [
    /no space left on device|disk quota exceeded|file too large/i,
    "the disk of gitops.cloneDir is full: free some space",
  ],
  [
    /find remote ref|remote branch .* not found/i,
    "there is no such branch, or the repository is empty: push a commit or correct gitops.branch",
  ],
  [
    /not our ref|remote error: upload-pack|missing necessary objects/i,
    "the repository is damaged, or was rewritten while it was read: the next poll tries again; if it stays, run git fsck there",
  ],
  [/dubious ownership/i, "the repository belongs to another account than the worker's: change one of them"],
  [
    /repository .*not found|does not appear to be a git repository|not a git repository|returned error: 404|no such file or directory/i,
    "there is no repository at gitops.url, or the credential may not see it",
  ],
  [
    /could not resolve|couldn't connect|failed to connect|connection (?:refused|timed out|reset|closed)|network is unreachable|no route to host|no answer within|operation too slow|early eof|hung up|unexpected disconnect|remote end closed|empty reply|broken pipe|bad pack header|unexpected eof|invalid index-pack output|premature end|incomplete|transfer closed|curl (?:18|56)|terminated|gnutls recv error|ssl_read|ssl_error_syscall/i,
    "the server does not answer, or the connection breaks: check the network; the next poll tries again",
  ],
];

/** `said` with what to do before it; undefined when the text is none that we know. */
export function explainGitFailure(said: string): string | undefined {
  const advice = ADVICE.find(([pattern]) => pattern.test(said))?.[1];
  return advice === undefined ? undefined : `${advice} (git: ${said})`;
}

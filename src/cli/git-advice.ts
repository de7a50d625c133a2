/**
 * What to do when git cannot read a repository, in the options of myrctl, by what git says (in English: our git runs with
 * LC_ALL=C). The server's advice (git-failure.ts) names its configuration instead.
 */

/** The first that fits counts: the more special before the more general. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/git cannot be (?:started|run)/, "Is git installed and on the PATH?"],
  [/no branch, tag or commit HEAD|find remote ref HEAD/, "Is the repository empty? Push a commit, or name a --ref."],
  [/no branch, tag or commit/, "--ref names a branch, a tag or a commit of that repository."],
  [
    /there is no revision|names no commit/,
    "Name a branch, a tag or a commit. A shallow clone lacks older ones: git fetch --unshallow.",
  ],
  [
    /remote host identification has changed|host key verification failed|no .* host key is known/i,
    "The server's SSH host key is not known: get it with ssh-keyscan HOST > FILE, compare it with what the server's operator says, and give --git-known-hosts-file FILE.",
  ],
  [
    /unprotected private key|bad permissions|load key |identity file/i,
    "--git-ssh-key-file needs a private key without passphrase that only you may read (chmod 600).",
  ],
  [
    /permission denied \(|too many authentication failures/i,
    "Give a private key that may read it: --git-ssh-key-file FILE, or load one into your SSH agent.",
  ],
  [
    /authentication failed|could not read (?:username|password)|returned error: 40[13]|invalid username/i,
    "Give a token that may read it: --git-token-file FILE.",
  ],
  [
    /certificate|\bssl:|gnutls|tls connect/i,
    "Name the CA of the server's certificate in GIT_SSL_CAINFO or SSL_CERT_FILE.",
  ],
  [/redirect|returned error: 30\d/i, "The server redirects: give the final URL."],
  [
    /could(?:n't| not) (?:resolve|connect)|failed to connect|connection (?:refused|timed out|reset|closed)|unreachable|no answer within|too slow|hung up|unable to access/i,
    "Is the host right, and reachable from here?",
  ],
  [/not a git repository/i, "Give a folder inside of a Git repository, or --git URL."],
  [/does not exist|not found|does not appear to be|no such file/i, "Check the URL, and that you may read it."],
  [/no YAML file|is no folder/, "--path names the folder that holds the objects, as gitops.path does."],
];

/** A sentence, or an empty text when nothing fits. */
export const adviceFor = (message: string): string => ADVICE.find(([said]) => said.test(message))?.[1] ?? "";

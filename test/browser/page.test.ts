import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TestProject } from "vitest/node";
import { appendEvent } from "../../src/store/events.ts";
import { createLoginLink } from "../../src/store/sessions.ts";
import { insertHosts, insertRollout, insertSnapshot } from "../support/api-rows.ts";
import { gitopsRoutes } from "../../src/api/routes/gitops.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { setup } from "../support/services.ts";

const BROWSER = process.env["MYRIARCH_BROWSER"] ?? "/usr/bin/chromium";
/** Where the screenshots of the acceptance walk go; none are written without it. */
const SCREENSHOTS = process.env["MYRIARCH_SCREENSHOTS"];

let stopServices: () => Promise<void>;
let api: TestApi;
let browser: Browser;
let base: string;
let context: BrowserContext;
let page: Page;
let complaints: string[];
/** Of the one login: links are few per minute. */
let session: Awaited<ReturnType<BrowserContext["cookies"]>> | undefined;

describe.skipIf(!existsSync(BROWSER))(`the page, as a person sees it (skipped without ${BROWSER})`, () => {
  beforeAll(async () => {
    const provided: Record<string, string> = {};
    const provide = (key: string, value: string): void => void (provided[key] = value);
    stopServices = await setup({ provide } as unknown as TestProject);
    const now = () => new Date();
    api = await createTestApi({
      serverUrl: provided["databaseUrl"] ?? "",
      now,
      guarded: (pool) => [gitopsRoutes({ pool, now, poke: async () => undefined })],
    });
    await insertHosts(api.database.pool);
    await insertSnapshot(api.database.pool);
    await insertRollout(api.database.pool);
    await api.app.listen({ host: "127.0.0.1", port: 0 });
    base = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-gpu"] });
  });
  afterAll(async () => {
    await browser?.close();
    await api?.close();
    await stopServices?.();
  });
  beforeEach(async () => {
    complaints = [];
    api.calls.length = 0;
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    return () => context.close();
  });

  const open = async () => {
    if (session === undefined) {
      const link = await createLoginLink(api.database.pool, { principal: "ana", role: "admin", now: new Date() });
      await page.goto(`${base}/login?link=${link}`);
      session = await context.cookies();
    } else {
      await context.addCookies(session);
      await page.goto(base);
    }
    await page.getByText("demo #1").first().waitFor();
    await page.getByText(/^Live /).waitFor();
  };
  const shot = async (name: string) => {
    if (SCREENSHOTS === undefined) return;
    await mkdir(SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  };

  it("says first whether it is live, what needs a person, and in what state everything is", async () => {
    await open();
    expect(await page.locator("#who").textContent()).toBe("ana, admin");
    expect(await page.locator("#needs").innerText()).toContain("wave rest waits for approval (required)");
    expect(await page.locator("#sentence").textContent()).toBe(
      "1 thing needs a person. 1 of 2 collectors connected and healthy. 1 rollout runs. In force: commit c1.",
    );
    const fleet = await page.locator("#fleets").innerText();
    for (const text of ["0.162.0", "0.161.0 (1), 0.162.0 (1)", "fleets/demo.yaml:1 at c1"])
      expect(fleet).toContain(text);
    expect(await page.locator("#hosts").innerText()).toContain("edge-1");
    expect(complaints).toEqual([]);
    await shot("light-1280");
  });

  it("names the errors of the newest revision with file and line, and the commit that stays in force", async () => {
    const { pool } = api.database;
    const issue = {
      code: "unknown_field",
      severity: "error",
      file: "fleets/demo.yaml",
      line: 7,
      column: 3,
      path: "spec.verison",
      message: "unknown field",
      hint: "did you mean version?",
    };
    await pool.query("insert into gitops_issues (commit, n, issue) values ('c2', 0, $1)", [JSON.stringify(issue)]);
    await open();
    await pool.query(
      "update gitops_state set state = 'error', seen_commit = 'c2', rejected_commit = 'c2', error_code = 'invalid_revision', error_message = '1 error'",
    );
    await page.getByText("fleets/demo.yaml:7:3").waitFor();
    await page.getByText("c1 stays in force; c2 is not applied").waitFor();
    await shot("git-error");
    await pool.query(
      "update gitops_state set state = 'ok', rejected_commit = null, error_code = null, error_message = null",
    );
  });

  it("shows every control in its place, and why one is off", async () => {
    await open();
    const names = await page.locator(".controls button").allTextContents();
    expect(names).toEqual(["approve", "pause", "resume", "retry", "rollback", "abort"]);
    const resume = page.locator(".controls li", { hasText: "it is not paused" }).getByRole("button");
    expect(await resume.getAttribute("aria-disabled")).toBe("true");
    await resume.click({ force: true });
    expect(await page.locator("dialog[open]").count()).toBe(0);
  });

  it("sends a control with its reason and says what came of it; abort is not sent without one", async () => {
    await open();
    await page.getByRole("button", { name: "abort" }).click();
    await page.locator("#control-send").click();
    expect(api.calls).toEqual([]);
    await page.locator("#reason").fill("disk alarm");
    await shot("dialog-abort");
    await page.locator("#control-send").click();
    await page.getByText(/abort \d\d:\d\d:\d\d: abort taken/).waitFor();
    expect(api.calls).toMatchObject([
      { fleet: "demo", n: 1, control: "abort", input: { reason: "disk alarm" }, principal: "ana" },
    ]);
  });

  it("approves the wave that waits, by keyboard", async () => {
    await open();
    await page.getByRole("button", { name: "approve" }).focus();
    await page.keyboard.press("Enter");
    expect(await page.locator("#control-title").textContent()).toBe("Approve wave rest of demo #1");
    await page.keyboard.type("canary fine");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText(/approve taken/).waitFor();
    expect(api.calls).toMatchObject([{ control: "approve", input: { wave: "rest", reason: "canary fine" } }]);
  });

  it("changes by the stream alone", async () => {
    await open();
    const { pool } = api.database;
    await pool.query("update rollouts set state = 'paused', reason = '1 failure, 0 allowed', holds = $1", [
      JSON.stringify({ threshold: { at: new Date().toISOString(), by: "system", reason: "1 of 1 failed" } }),
    ]);
    await appendEvent(pool, "rollout:demo/1", { state: "paused" });
    await page.getByText("paused: 1 failure, 0 allowed").waitFor();
    await page.getByText("held (threshold)").waitFor();
    await shot("light-1280-paused");
    await pool.query("update rollouts set state = 'waiting_approval', reason = 'wave rest waits', holds = '{}'");
  });

  it("shows what hosts and people write as text, never as markup", async () => {
    const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const { pool } = api.database;
    await pool.query(
      "update agents set last_error = $1, healthy = false where host_name = 'edge-1' and kind = 'collector'",
      [evil],
    );
    await pool.query("update rollouts set reason = $1", [evil]);
    await open();
    expect(await page.locator("#rollouts").innerText()).toContain("<script>document.title='owned'</script>");
    expect(await page.locator("#hosts").innerText()).toContain("<img src=x onerror");
    expect(await page.title()).not.toBe("owned");
    expect(await page.locator("main img, main script").count()).toBe(0);
    await pool.query(
      "update agents set last_error = '', healthy = true where host_name = 'edge-1' and kind = 'collector'",
    );
    await pool.query("update rollouts set reason = 'wave rest waits'");
  });

  it.each([
    ["phone", 400, "light"],
    ["phone-dark", 400, "dark"],
    ["dark-1280", 1280, "dark"],
    ["narrow", 320, "light"],
  ] as const)("fits %s without sideways scrolling", async (name, width, colorScheme) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await open();
    const wider = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    expect(wider).toBe(0);
    await shot(name);
  });

  it("asks for a token, and refuses a wrong one with words", async () => {
    await page.goto(base);
    await page.locator("#token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("does not know this token").waitFor();
    await shot("sign-in");
    await page.locator("#token").fill(api.tokens.viewer);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("your role is viewer; controls need operator").first().waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.locator("#token").waitFor();
  });

  it("says that it is not live when the server is gone, keeps what it showed, and turns the controls off", async () => {
    await open();
    await api.app.close();
    await page.getByText(/^Not live\. Showing \d\d:\d\d:\d\d/).waitFor();
    await page.getByText("off while the server cannot be reached").first().waitFor();
    expect(await page.locator("#fleets").innerText()).toContain("demo");
    await shot("not-live");
  });
});

/** The reference library as a server: it reads what we write, we read what it writes, byte for byte where bytes are pinned. */
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { freePort } from "../../src/embedded/ports.ts";
import { decodeAgentToServer, decodeServerToAgent, encodeAgentToServer, encodeServerToAgent, } from "../../src/protocol/codec.ts";
import { uidToBytes } from "../../src/protocol/uid.ts";
import { description, eventually, health, newUid, startAgent } from "../support/opamp.ts";
import { openPeers, skipPeers } from "../support/peers.ts";
import { startReference } from "../support/reference-peer.ts";
const TOKEN = "reference-token";
const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
const UID_FIELD = "0a100190a1b2c3d47e8f9a0b1c2d3e4f5061";
const base64 = (hex) => Buffer.from(hex, "hex").toString("base64");
const instanceUid = Buffer.from(uidToBytes(UID)).toString("base64");
describe.skipIf(skipPeers() !== undefined)("the reference server", () => {
    let server;
    let endpoint;
    let control;
    const agents = [];
    beforeAll(async () => {
        const peers = await openPeers();
        const [port, controlPort] = [await freePort(), await freePort()];
        endpoint = `ws://127.0.0.1:${port}/v1/opamp`;
        control = `http://127.0.0.1:${controlPort}/send`;
        const listen = ["-listen", `127.0.0.1:${port}`, "-ctl", `127.0.0.1:${controlPort}`];
        server = await startReference(peers.reference, ["server", ...listen, "-token", TOKEN]);
        await eventually("the server listens", () => server.heard("listening").length > 0);
    });
    afterEach(async () => {
        await Promise.all(agents.splice(0).map((agent) => agent.stop()));
    });
    afterAll(async () => {
        await server?.stop();
    });
    /** Has the server send this message (protojson) to one agent. */
    async function send(uid, message) {
        const query = new URLSearchParams({ uid: Buffer.from(uidToBytes(uid)).toString("hex") });
        const sent = async () => {
            const answer = await fetch(`${control}?${query.toString()}`, { method: "POST", body: JSON.stringify(message) });
            const text = await answer.text();
            if (!answer.ok)
                throw new Error(text);
            return JSON.parse(text).sent === 1;
        };
        await eventually("the message is sent", sent);
    }
    describe("golden frames", () => {
        let socket;
        const frames = [];
        const messages = () => server
            .heard("AgentToServer")
            .map(({ msg }) => msg)
            .filter((msg) => msg?.["instanceUid"] === instanceUid);
        const next = async (after) => await eventually("a frame", () => frames.at(after));
        beforeAll(async () => {
            socket = new WebSocket(endpoint, { headers: { Authorization: `Bearer ${TOKEN}` } });
            socket.on("message", (data) => frames.push(data));
            await once(socket, "open");
        });
        afterAll(() => socket?.terminate());
        it.each([
            ["heartbeat", `00${UID_FIELD}1005209950`, { sequenceNum: "5", capabilities: "10265" }],
            [
                "package statuses, Installed",
                `00${UID_FIELD}100720995042230a1e0a00121a120876302e3135302e301a0101220876302e3135302e302a01011201a1`,
                {
                    sequenceNum: "7",
                    capabilities: "10265",
                    packageStatuses: {
                        packages: {
                            "": {
                                agentHasVersion: "v0.150.0",
                                agentHasHash: base64("01"),
                                serverOfferedVersion: "v0.150.0",
                                serverOfferedHash: base64("01"),
                            },
                        },
                        serverProvidedAllPackagesHash: base64("a1"),
                    },
                },
            ],
            [
                "last message",
                `00${UID_FIELD}10062099504a00`,
                { sequenceNum: "6", capabilities: "10265", agentDisconnect: {} },
            ],
        ])("of an agent: it reads %s as we mean it, and answers", async (_, frame, meant) => {
            const written = encodeAgentToServer(decodeAgentToServer(Buffer.from(frame, "hex")));
            expect(Buffer.from(written).toString("hex")).toBe(frame);
            const [before, answers] = [messages().length, frames.length];
            socket.send(written);
            expect(await eventually("it was read", () => messages().at(before))).toEqual({ instanceUid, ...meant });
            expect(decodeServerToAgent(await next(answers))).toMatchObject({ instanceUid: UID, capabilities: 0x7fn });
        });
        it.each([
            ["ReportFullState", `00${UID_FIELD}3001381f`, { flags: "1", capabilities: "31" }],
            ["command Restart", `00${UID_FIELD}4a00`, { command: {} }],
            [
                "error Unavailable",
                `00${UID_FIELD}121008021204627573791a060880d88ee16f`,
                {
                    errorResponse: {
                        type: "ServerErrorResponseType_Unavailable",
                        errorMessage: "busy",
                        retryInfo: { retryAfterNanoseconds: "30000000000" },
                    },
                },
            ],
            [
                "remote config",
                `00${UID_FIELD}1a1e0a180a160a0012120a05613a20310a1209746578742f79616d6c1202beef`,
                {
                    remoteConfig: {
                        config: { configMap: { "": { body: base64("613a20310a"), contentType: "text/yaml" } } },
                        configHash: base64("beef"),
                    },
                },
            ],
            [
                "packages available",
                `00${UID_FIELD}2a490a440a001240120876302e3135302e301a310a0a687474703a2f2f682f61120202031a027b7d221b0a190a0d417574686f72697a6174696f6e120842656172657220742201011201a1`,
                {
                    packagesAvailable: {
                        packages: {
                            "": {
                                version: "v0.150.0",
                                hash: base64("01"),
                                file: {
                                    downloadUrl: "http://h/a",
                                    contentHash: base64("0203"),
                                    signature: base64("7b7d"),
                                    headers: { headers: [{ key: "Authorization", value: "Bearer t" }] },
                                },
                            },
                        },
                        allPackagesHash: base64("a1"),
                    },
                },
            ],
        ])("of a server: %s as it writes it is what we write", async (_, frame, message) => {
            // Known to the server from a message; the last one of the table above closed nothing on its side.
            const known = frames.length;
            socket.send(Buffer.from(`00${UID_FIELD}1005209950`, "hex"));
            await next(known);
            await send(UID, message);
            const got = await next(known + 1);
            expect(got.toString("hex")).toBe(frame);
            expect(Buffer.from(encodeServerToAgent(decodeServerToAgent(got))).toString("hex")).toBe(frame);
        });
    });
    describe("our agent's client", () => {
        const start = (token) => {
            const agent = startAgent({
                endpoint,
                token,
                uid: newUid(),
                capabilities: 0x2819n,
                state: {
                    agentDescription: description({ "service.name": "myriarch-updater" }, { "host.name": "ours" }),
                    health: health(true),
                },
            });
            agents.push(agent);
            return agent;
        };
        const saidBy = (agent) => {
            const uid = Buffer.from(uidToBytes(agent.client.instanceUid)).toString("base64");
            return server
                .heard("AgentToServer")
                .map(({ msg }) => msg)
                .filter((msg) => msg?.["instanceUid"] === uid);
        };
        it("is refused with another token", async () => {
            const before = server.heard("refused").length;
            const agent = start("another");
            await eventually("a refusal", () => server.heard("refused").length > before);
            expect(saidBy(agent)).toEqual([]);
        });
        it("begins with everything, answers ReportFullState with everything, and says goodbye", async () => {
            const agent = start(TOKEN);
            const whole = {
                capabilities: "10265",
                agentDescription: {
                    identifyingAttributes: [{ key: "service.name", value: { stringValue: "myriarch-updater" } }],
                    nonIdentifyingAttributes: [{ key: "host.name", value: { stringValue: "ours" } }],
                },
                health: { healthy: true, startTimeUnixNano: "1", status: "StatusOK" },
            };
            const first = await eventually("its first message", () => saidBy(agent)[0]);
            expect(first).toMatchObject(whole);
            expect(first).not.toHaveProperty("sequenceNum");
            await send(agent.client.instanceUid, { flags: "1" });
            expect(await eventually("its second message", () => saidBy(agent)[1])).toMatchObject({
                sequenceNum: "1",
                ...whole,
            });
            await send(agent.client.instanceUid, { command: {} });
            await eventually("the command", () => agent.received.some(({ command }) => command?.type === 0));
            await agent.stop();
            await eventually("goodbye", () => saidBy(agent).at(-1)?.["agentDisconnect"] !== undefined);
        });
        it("goes on under the UID that it is given", async () => {
            const agent = start(TOKEN);
            await eventually("its first message", () => saidBy(agent)[0]);
            const given = newUid();
            await send(agent.client.instanceUid, {
                agentIdentification: { newInstanceUid: Buffer.from(uidToBytes(given)).toString("base64") },
            });
            await eventually("the new UID", () => agent.client.instanceUid === given);
            agent.report({ health: health(false) });
            await eventually("a message under it", () => saidBy(agent).some((msg) => msg?.["health"]?.status === "StatusStarting"));
        });
    });
});

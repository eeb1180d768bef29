#!/usr/bin/env node
// Takes the pictures of the HTML pages in docs/pictures/pages: each page at three widths, light and dark.
//
//   scripts/pictures.mjs [--png] [OUT]
//
// It simulates what the pages show, so the pictures are the same on every machine. Needs chromium, Node 20 or later,
// and target/debug/picklock and picklock-lab (`cargo build --workspace`). --png: for programs that cannot read WebP.
import { spawn, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const format = process.argv.includes("--png") ? "png" : "webp";
const out = resolve(process.argv.slice(2).find((it) => !it.startsWith("--")) ?? join(root, "docs/pictures/pages"));
const work = mkdtempSync(join(tmpdir(), "picklock-pictures-"));
const sizes = [[1400, 900], [768, 1024], [390, 844]];

// --- The pages ---------------------------------------------------------------------------------------------

// Runs a program of target/debug in the work directory. A violation is not a failure here.
function run(program, line) {
    const options = { cwd: work, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } };
    try {
        return execFileSync(join(root, "target/debug", program), line.split(" "), options);
    } catch (error) {
        if (error.status === 1) return error.stdout;
        throw new Error(`${program} ${line}: ${error.stderr ?? error}`);
    }
}

function pages() {
    const sim = "--backend sim";
    run("picklock", `scenario gc-pause --impl redlock ${sim} --seed 3 --out run`);
    run("picklock", "report run --format html --out run-page");
    run("picklock", `matrix ${sim} --quiet --out matrix`);
    run("picklock", "report matrix --format html --out matrix-page");
    run("picklock", `sweep --impl get-then-del --out search`);
    run("picklock", "report search --format html --out search-page");
    const few = `${sim} --impl set-nx-px,redlock --quiet --seeds 5 --scenario `
        + "calm,gc-pause,stale-delete,lost-reply,steady-load,node-restart,quorum-erosion,network-delay";
    run("picklock", `matrix ${few} --out before`);
    run("picklock", `matrix ${few} --ttl 60ms --out after`);
    run("picklock", "report after --against before --format html --out comparison-page");
    const cells = '[[cells]]\nbackends = ["sim"]\nlocks = ["release-without-token"]\nprofile = "quick"\n';
    const expect = "[[expect]]\n" + 'exclusion = "any"\nresource = "any"\n'
        + ["lease", "ownership", "progress", "claims"].map((it) => `${it} = "held"\n`).join("");
    writeFileSync(join(work, "picklock.toml"), cells + expect);
    run("picklock", "gate --quiet --out gate");
    run("picklock-lab", "render gate/gate.md comment.html");
    return {
        run: "run-page/report.html",
        matrix: "matrix-page/report.html",
        search: "search-page/report.html",
        comparison: "comparison-page/comparison.html",
        "gate-comment": "comment.html",
    };
}

// --- The browser -------------------------------------------------------------------------------------------

// Starts Chromium, and returns a function that calls a method of its protocol.
function browser() {
    const options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
        `--user-data-dir=${join(work, "profile")}`];
    const child = spawn("chromium", options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const waiting = new Map();
    let text = "";
    let number = 0;
    child.stdio[4].on("data", (bytes) => {
        text += bytes;
        const messages = text.split("\0");
        text = messages.pop();
        for (const message of messages.map((it) => JSON.parse(it))) {
            const { resolve: done, reject: failed } = waiting.get(message.id) ?? {};
            waiting.delete(message.id);
            if (message.error) failed?.(new Error(JSON.stringify(message.error)));
            else done?.(message.result);
        }
    });
    const call = (method, params = {}, sessionId = undefined) => new Promise((done, failed) => {
        number += 1;
        waiting.set(number, { resolve: done, reject: failed });
        child.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + "\0");
    });
    return { call, child };
}

async function photograph(call, name, address) {
    for (const [width, height] of sizes) {
        for (const theme of ["light", "dark"]) {
            const { targetId } = await call("Target.createTarget", { url: "about:blank" });
            const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
            const page = (method, params) => call(method, params, sessionId);
            const features = [{ name: "prefers-color-scheme", value: theme }];
            await page("Emulation.setEmulatedMedia", { features });
            await page("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
            await page("Page.navigate", { url: address });
            const settled = "new Promise((done) => { const it = () => document.readyState === 'complete'"
                + " ? setTimeout(done, 400) : setTimeout(it, 50); it(); })";
            await page("Runtime.evaluate", { expression: settled, awaitPromise: true });
            const quality = format === "webp" ? { quality: 70 } : {};
            const { data } = await page("Page.captureScreenshot", { format, ...quality });
            writeFileSync(join(out, `${name}-${width}-${theme}.${format}`), Buffer.from(data, "base64"));
            await call("Target.closeTarget", { targetId });
        }
    }
}

mkdirSync(out, { recursive: true });
const { call, child } = browser();
try {
    for (const [name, file] of Object.entries(pages())) {
        await photograph(call, name, pathToFileURL(join(work, file)).href);
    }
} finally {
    await call("Browser.close").catch(() => child.kill());
    await new Promise((done) => child.exitCode === null ? child.on("exit", done) : done());
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}

// A user with a browser: opens the login page, signs in, consents, and checks the final page.
// Arguments: the folder of the packages, the URL, the file for the screenshot.
import { createRequire } from "node:module";

const [, , packages, page, picture] = process.argv;
const { chromium } = createRequire(`${packages}/`)("playwright-core");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  timeout: 120_000,
  // The sandbox needs privileges that a container does not have, and only our own pages are opened.
  // Requests to the vendor are off: without network access the browser would wait for them.
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
  ],
});
try {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(90_000);
  await tab.goto(page);
  await tab.fill("input[name=login]", "ada");
  await tab.fill("input[name=password]", "any");
  await tab.screenshot({ path: picture.replace(/\.png$/, "-login.png") });
  await tab.click("button[type=submit]");
  await tab.waitForSelector("text=Authorize");
  await tab.screenshot({ path: picture.replace(/\.png$/, "-consent.png") });
  await tab.click("button[type=submit]");
  await tab.waitForSelector("text=You can close this window");
  await tab.screenshot({ path: picture });
  console.log(await tab.innerText("body"));
} finally {
  await browser.close();
}

-- nvim --clean --headless -c 'luafile init.lua' -c edit -c 'luafile trace.lua' train.py, for Neovim 0.11 and newer.
-- Traces an entry by its lens, as a user does; reports JSON lines; exits with 1 at the first surprise.

local PATIENCE = 60000

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")
local say = common.say

local function until_true(what, test)
  assert(vim.wait(PATIENCE, test, 50), what)
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, PATIENCE) or {}
  for _, answer in pairs(answers) do
    if answer.result then
      return answer.result
    end
  end
end

local function titles()
  local found = {}
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    if lens.command then
      table.insert(found, lens.command.title)
    end
  end
  return table.concat(found, "\n")
end

-- Waits for a lens that says so, asking again as an editor does after an edit.
local function lens(needle)
  until_true("no lens says " .. needle .. " but " .. titles(), function()
    vim.lsp.codelens.refresh({ bufnr = 0 })
    vim.wait(200)
    return titles():find(needle, 1, true) ~= nil
  end)
end

local function go(needle)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = line:find(needle, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 })
      return number
    end
  end
  error(needle .. " is not there")
end

-- The hint at the end of the line with a text, once there is one.
local function hint(needle)
  local row = go(needle) - 1
  local label
  until_true("no hint", function()
    local params = {
      textDocument = vim.lsp.util.make_text_document_params(0),
      range = { start = { line = row, character = 0 }, ["end"] = { line = row + 1, character = 0 } },
    }
    for _, one in ipairs(ask("textDocument/inlayHint", params) or {}) do
      label = one.label
    end
    return label ~= nil
  end)
  return label
end

local function main()
  until_true("no client", function() return #vim.lsp.get_clients({ name = "meshlens" }) > 0 end)
  lens("Trace on 8 devices")
  go("def entry")
  vim.lsp.codelens.run()
  lens("1 collective")
  say("traced", titles())
  say("hint", hint("tanh"))
  go("tanh")
  local client = vim.lsp.get_clients({ name = "meshlens" })[1]
  say("hover", ask("textDocument/hover", vim.lsp.util.make_position_params(0, client.offset_encoding)).contents.value)

  local row = go("return jnp.mean")
  vim.api.nvim_buf_set_lines(0, row - 1, row - 1, false, { "    h = h + x" })
  lens("stale")
  vim.cmd("silent write")
  go("def entry")
  vim.lsp.codelens.run()
  until_true("no error", function() return #vim.diagnostic.get(0) > 0 end)
  local found = vim.diagnostic.get(0)[1]
  say("error", { found.lnum + 1, found.message })
  say("row", row)
  say("pass", true)
end

common.run(main)

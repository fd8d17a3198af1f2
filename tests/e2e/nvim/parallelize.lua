-- nvim --clean --headless -c 'luafile init.lua' -c edit -c 'luafile parallelize.lua' train.py, for Neovim 0.7 and newer.
-- Reports the menus of three functions as JSON lines, and the text after one is parallelized; exits with 1 at a surprise.

local PATIENCE = 20000

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")
local say, text = common.say, common.text

local function until_true(what, test)
  assert(vim.wait(PATIENCE, test, 20), what)
end

local function has_server()
  local clients = vim.lsp.get_clients and vim.lsp.get_clients() or vim.lsp.get_active_clients()
  for _, client in ipairs(clients) do
    if client.name == "meshlens" and client.server_capabilities and next(client.server_capabilities) then
      return true
    end
  end
end

local function go(buffer, needle)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = line:find(needle, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column + 4 })
      return
    end
  end
  error(needle .. " is not there")
end

-- Opens the editor's own menu on a function, and chooses what begins with a text, if anything does.
local function menu(buffer, needle, wanted)
  local titles
  vim.ui.select = function(items, _, choose)
    titles = {}
    local chosen, place
    for number, item in ipairs(items) do
      local title = (item.action or item[2]).title
      titles[number] = title
      if wanted and title:sub(1, #wanted) == wanted then
        chosen, place = item, number
      end
    end
    choose(chosen, place)
  end
  go(buffer, needle)
  vim.lsp.buf.code_action()
  until_true("no menu for " .. needle, function() return titles ~= nil end)
  return titles
end

local function main()
  local buffer = vim.api.nvim_get_current_buf()
  until_true("no client", has_server)
  say("refused", menu(buffer, "def report", nil))
  say("asked", menu(buffer, "def unclear", nil))
  local before = text(buffer)
  say("ways", menu(buffer, "def predict", "Parallelize with jit and sharding"))
  until_true("the action changed nothing", function() return text(buffer) ~= before end)
  say("text", text(buffer))
  say("pass", true)
end

common.run(main)
